# Draws the output of a command on a terminal as SVG, in the colours, light or dark, that the reader
# prefers.

BEGIN {
    LINE = 17; CHARACTER = 7.8; LEFT = 12
    add("\033[2m$\033[0m " ENVIRON["COMMAND"])
}

{ sub(/\r$/, ""); add($0) }

# Adds a line of text with its colours. Its width follows from its number of characters, whichever
# font the reader has.
function add(line,    parts, count, i, at, code, text, drawn, characters) {
    gsub(/&/, "\\&amp;", line); gsub(/</, "\\&lt;", line); gsub(/>/, "\\&gt;", line)
    count = split(line, parts, "\033\\[")
    for (i = 1; i <= count; i++) {
        text = parts[i]; code = "0"
        if (i > 1) {
            at = index(text, "m")
            code = substr(text, 1, at - 1)
            text = substr(text, at + 1)
        }
        if (text == "") continue
        drawn = drawn (code == "0" ? text : "<tspan class=\"c" code "\">" text "</tspan>")
        # Bytes that continue a character of UTF-8 don't count as characters.
        gsub(/&[a-z]+;/, "x", text); gsub(/[\200-\277]/, "", text)
        characters += length(text)
    }
    lines++
    if (characters > widest) widest = characters
    if (characters > 0)
        body = body sprintf("<text x=\"%d\" y=\"%d\" textLength=\"%.1f\">%s</text>\n", \
            LEFT, LEFT + lines * LINE - 4, characters * CHARACTER, drawn)
}

END {
    width = 2 * LEFT + widest * CHARACTER; height = 2 * LEFT + lines * LINE
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n", width, height
    print "<style>"
    print "rect { fill: #f6f8fa } .c2 { fill: #6e7781 } .c31 { fill: #b3261e } .c33 { fill: #8a5a00 }"
    print "text { font: 13px monospace; white-space: pre; fill: #1f2328 } .c1 { font-weight: bold }"
    print "@media (prefers-color-scheme: dark) {"
    print "rect { fill: #161b22 } text { fill: #e6edf3 } .c2 { fill: #8b949e } .c31 { fill: #ff8a80 }"
    print ".c33 { fill: #e3b341 }"
    print "}"
    print "</style>"
    printf "<rect width=\"%d\" height=\"%d\" rx=\"6\"/>\n%s</svg>\n", width, height, body
}
