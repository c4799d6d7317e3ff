// Controls of a chart that are set together, which Vega-Lite has no words for. `presets` is the chart's usermeta of
// that name: a menu `by` whose choices move other controls to `settings[choice]`, and which says `other` once a control
// stands where no choice puts it.
window.vegaPresets = (view, presets) => {
  if (!presets) return;
  const { by, other, settings } = presets, controls = Object.keys(Object.values(settings)[0]);
  const holds = choice => controls.every(name => view.signal(name) === settings[choice][name]);
  view.addSignalListener(by, (_, choice) => {
    for (const [name, value] of Object.entries(settings[choice] ?? {})) view.signal(name, value);
    view.runAsync();
  });
  for (const name of controls) {
    view.addSignalListener(name, () => {
      view.signal(by, Object.keys(settings).find(holds) ?? other);
      view.runAsync();
    });
  }
};
