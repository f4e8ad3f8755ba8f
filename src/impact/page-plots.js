/** Runs in the page: draws every plot from the data that stand in it, in the reader's colours, and again when these change. */
(() => {
  const plots = JSON.parse(document.getElementById('plots').textContent);
  const language = document.documentElement.lang;
  const height = 320;

  const number = (options) => {
    const format = new Intl.NumberFormat(language, options);
    return (value) => format.format(value);
  };
  const digits = (least, most) => ({ minimumFractionDigits: least, maximumFractionDigits: most });
  const hundredths = number(digits(2, 2));
  const small = number({ maximumSignificantDigits: 3 });
  const perHundred = number({ style: 'percent', ...digits(0, 2) });
  const money = number({ style: 'currency', currency: 'BRL' });
  const wholeMoney = number({ style: 'currency', currency: 'BRL', ...digits(0, 0) });
  const legendFormats = {
    count: number(digits(0, 0)),
    number: (value) => (Math.abs(value) < 1 ? small(value) : hundredths(value)),
    share: number({ style: 'percent', ...digits(2, 2) }),
    rate: (value) => `${hundredths(value / 100)} %`,
    // Six digits of a sum are here, so that cents of a large one would be made up.
    money: (value) => (Math.abs(value) < 1e5 ? money : wholeMoney)(value / 100),
  };
  const axisFormats = {
    ...legendFormats,
    number: number({ notation: 'compact', maximumSignificantDigits: 4 }),
    share: perHundred,
    money: (value) => wholeMoney(value / 100),
  };

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const toneOf = (tone) => colour(`--tone-${tone}`);

  const lineWidths = { line: 2, thick: 3.5, thin: 1.25, dashed: 2, points: 2, bars: 1, area: 2 };

  function seriesOf({ label, look, tone }, unit) {
    const stroke = () => toneOf(tone);
    const filled = look === 'bars' || look === 'area';
    const series = {
      label,
      stroke,
      width: lineWidths[look],
      points: { show: look === 'points', size: 9, fill: stroke },
      value: (_plot, value) => (value == null ? '–' : legendFormats[unit](value)),
    };
    if (filled) series.fill = () => `${toneOf(tone)}${look === 'bars' ? 'b0' : '40'}`;
    if (look === 'points') series.spanGaps = true;
    if (look === 'dashed') series.dash = [8, 6];
    if (look === 'bars') series.paths = uPlot.paths.bars({ size: [0.7, 80] });
    return series;
  }

  const font = '13px system-ui, sans-serif';
  const leastAxis = 76;

  /** As wide as its longest figure; asked again while the figures change with the width, but not for ever. */
  function axisWidth(chart, figures, place, round) {
    const axis = chart.axes[place];
    if (round > 1) return axis._size;
    const { ctx } = chart;
    ctx.save();
    ctx.font = font;
    const widths = (figures ?? []).map((figure) => ctx.measureText(figure).width);
    ctx.restore();
    return Math.max(leastAxis, Math.ceil(Math.max(0, ...widths)) + axis.ticks.size + axis.gap);
  }

  function axisOf({ label, unit }, vertical) {
    return {
      label,
      labelSize: 24,
      size: vertical ? axisWidth : 40,
      space: vertical ? 36 : 84,
      stroke: () => colour('--ink'),
      font,
      labelFont: font,
      grid: { stroke: () => colour('--grid'), width: 1 },
      ticks: { stroke: () => colour('--grid'), width: 1 },
      values: (_plot, splits) => splits.map((value) => (value == null ? '' : axisFormats[unit](value))),
    };
  }

  /** Bars are as wide as their places are apart, also the first and the last. */
  function widthOf(values) {
    const steps = values.slice(1).map((value, place) => value - values[place]);
    return steps.length === 0 ? 1 : Math.min(...steps);
  }

  function acrossOf({ range, values }, bars) {
    const room = bars ? widthOf(values) / 2 : 0;
    const whole = (_plot, low, high) => (low === high ? [low - 1, high + 1] : [low - room, high + room]);
    return { time: false, range: range ? () => range : whole };
  }

  const markRow = 19;

  /** Words stand above the plot, each in a row of its own, so that they hide no curve and not each other. */
  function drawMarks(chart, marks) {
    const { ctx, bbox } = chart;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = colour('--mark');
    ctx.fillStyle = colour('--ink');
    ctx.lineWidth = 1.5 * ratio;
    ctx.font = `${13 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = 'middle';
    for (const [place, { at, label }] of marks.entries()) {
      const x = chart.valToPos(at, 'x', true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      const y = bbox.top - (place + 0.5) * markRow * ratio;
      ctx.setLineDash([4 * ratio, 4 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, y - 7 * ratio);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const right = x > bbox.left + bbox.width / 2;
      ctx.textAlign = right ? 'right' : 'left';
      ctx.fillText(label, x + (right ? -6 : 6) * ratio, y);
    }
    ctx.restore();
  }

  function draw(element, plot) {
    const { x, y, series, marks, shown } = plot;
    const bars = series.some(({ look }) => look === 'bars');
    const atRest = (chart) => {
      if (chart.cursor.idx == null && chart.legend.idx !== shown) chart.setLegend({ idx: shown });
    };
    const options = {
      width: Math.max(280, element.clientWidth),
      height,
      padding: [12 + marks.length * markRow, 26, 0, 0],
      scales: { x: acrossOf(x, bars), y: y.range ? { range: () => y.range } : {} },
      axes: [axisOf(x, false), axisOf(y, true)],
      series: [
        { label: x.label, value: (_plot, value) => (value == null ? '–' : legendFormats[x.unit](value)) },
        ...series.map((one) => seriesOf(one, y.unit)),
      ],
      cursor: { points: { size: 7 }, drag: { x: true, y: false } },
      legend: {
        markers: { width: 3, dash: (_plot, place) => (series[place - 1]?.look === 'dashed' ? 'dotted' : 'solid') },
      },
      hooks: { draw: [(chart) => drawMarks(chart, marks)], setLegend: [atRest] },
    };
    return new uPlot(options, [x.values, ...series.map(({ values }) => values)], element);
  }

  const charts = [];
  for (const element of document.querySelectorAll('[data-plot]')) {
    try {
      const chart = draw(element, plots[Number(element.dataset.plot)]);
      charts.push(chart);
      new ResizeObserver(() => {
        const width = Math.max(280, element.clientWidth);
        if (width !== chart.width) chart.setSize({ width, height });
      }).observe(element);
    } catch (fault) {
      element.className = 'fault';
      element.textContent = String(fault);
    }
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const chart of charts) chart.redraw(false, true);
  });
  document.documentElement.dataset.drawn = String(charts.length);
})();
