// Draws the charts of a live notebook over their still pictures. In the book, mount.js does this.
window.paperDraw = box => {
  if (!window.vegaEmbed || box.querySelector('.vl-live')) return;
  const { usermeta = {}, ...wide } = JSON.parse(box.querySelector('.vl-spec').textContent);
  const dark = document.body.dataset.jpThemeLight === 'false';
  const narrow = box.clientWidth > 0 && box.clientWidth < 560 && usermeta.narrow;
  const spec = narrow ? { ...usermeta.narrow, datasets: wide.datasets } : wide;
  if (dark && usermeta.dark) spec.config = usermeta.dark;
  const host = document.createElement('div');
  host.className = 'vl-live';
  window.vegaEmbed(host, spec, { renderer: 'svg', actions: false, tooltip: { theme: dark ? 'dark' : 'light' } })
    .then(({ view }) => {
      window.vegaPresets(view, usermeta.presets);
      box.querySelector('.vl-still').style.display = 'none';
      box.append(host);
    })
    .catch(error => console.error('the chart stays a still picture:', error));
};
document.querySelectorAll('.vl-chart').forEach(window.paperDraw);
