# Runs workers and paints in Chromium, with all of its processes and without its sandbox. $1 is the
# folder.
cd "$1"
cat >page.html <<'HTML'
<title>work</title><body><ul id=list></ul><canvas id=picture width=200 height=200></canvas>
<script>
const add = text => {
    const item = document.createElement("li");
    item.textContent = text;
    list.append(item);
};
const code = `onmessage = e => {
    let sum = 0;
    for (let n = 0; n < 1e6; n++) sum = (sum + n * e.data) % 1000003;
    postMessage(sum);
};`;
const url = URL.createObjectURL(new Blob([code]));
const ask = n => new Promise(done => {
    const worker = new Worker(url);
    worker.onmessage = e => { worker.terminate(); done(e.data); };
    worker.postMessage(n);
});
const pen = picture.getContext("2d");
for (let n = 0; n < 200; n++) { pen.fillStyle = `rgb(${n},${255 - n},9)`; pen.fillRect(n, n, 9, 9); }
let spun, finished = false;
// The browser's clock stands still while this works, and the workers get on.
setInterval(() => {
    for (let n = 0; !finished && n < 3e6; n++) spun = n * n % 7;
}, 20);
Promise.all([1, 2, 3, 4, 5, 6].map(ask)).then(sums => {
    sums.forEach(add);
    add(pen.getImageData(50, 50, 1, 1).data.join());
    document.title = "done";
    finished = true;
});
</script>
HTML
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$1/profile" --virtual-time-budget=20000 \
    --dump-dom "file://$1/page.html" 2>log | grep -E "<title>done|<li>"
