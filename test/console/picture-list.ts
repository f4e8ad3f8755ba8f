/** The pictures of the README. Sizes in CSS pixels, before they are made smaller. */
export const picturesFolder = new URL('../../docs/pictures/', import.meta.url);

export const pictures = [
  { file: 'now.webp', path: '/', width: 1280, height: 800, scale: 0.625, scheme: 'light' },
  { file: 'market.webp', path: '/console/market', width: 1280, height: 800, scale: 0.625, scheme: 'dark' },
  { file: 'requests-phone.webp', path: '/console/requests', width: 390, height: 844, scale: 0.6, scheme: 'light' },
] as const;
