import type { V1beta1IDRange } from '#api/policy/v1beta1/pod-security-policy-types.ts'

export const rangesText = (ranges: readonly V1beta1IDRange[] = []): string =>
  `[${ranges.map(({ min, max }) => `{${min} ${max}}`).join(' ')}]`

export const isInRanges = (id: number, ranges: readonly V1beta1IDRange[] = []): boolean =>
  ranges.some(({ min, max }) => id >= min && id <= max)
