# LibreOffice converts a table to another format and back, and a page to text and to PDF. $1 is the
# folder.
cd "$1"
export HOME="$1"
for n in $(seq 200); do echo "$n,=A$n*3,row $n"; done >table.csv
{ echo '<html><body>'; for n in $(seq 200); do echo "<h2>Chapter $n</h2><p>Some words of chapter $n.</p>"; done; echo '</body></html>'; } >page.html
folder=$1
office() { soffice -env:UserInstallation="file://$folder/profile" --headless --norestore "$@" >>log 2>&1; }
office --convert-to ods table.csv
office --convert-to csv --outdir out table.ods
office --convert-to txt:Text --outdir out page.html
office --convert-to pdf --outdir out page.html
sha256sum <out/table.csv; sha256sum <out/page.txt; head -c 5 out/page.pdf; echo
