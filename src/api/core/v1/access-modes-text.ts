const shortModes = { ReadWriteOnce: 'RWO', ReadOnlyMany: 'ROX', ReadWriteMany: 'RWX', ReadWriteOncePod: 'RWOP' }

/** As tables show them: `RWO,ROX`, always in this order. */
export function accessModesText(modes: readonly string[] | undefined): string {
  return Object.entries(shortModes)
    .filter(([mode]) => modes?.includes(mode))
    .map(([, short]) => short)
    .join(',')
}
