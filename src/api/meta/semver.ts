/** Semantic versions, as strictly read as semver.org has them: no leading zeros, all three numbers. */
export type Semver = { major: bigint; minor: bigint; patch: bigint; prerelease: readonly string[] }

const number = '(0|[1-9][0-9]*)'
const pattern = new RegExp(`^${number}\\.${number}\\.${number}(?:-([0-9A-Za-z-.]+))?(?:\\+([0-9A-Za-z-.]+))?$`)
const maxUint64 = 2n ** 64n - 1n

export function parseSemver(text: string): Semver | undefined {
  const match = pattern.exec(text)
  if (!match) return undefined
  const [, major = '', minor = '', patch = '', prereleaseText, build] = match
  const version = { major: BigInt(major), minor: BigInt(minor), patch: BigInt(patch), prerelease: prereleaseText?.split('.') ?? [] }
  if ([version.major, version.minor, version.patch].some((part) => part > maxUint64)) return undefined
  if (version.prerelease.some((part) => part === '' || /^0[0-9]+$/.test(part))) return undefined
  return build?.split('.').includes('') ? undefined : version
}

/** Negative if the first is the older one. */
export function compareSemver(one: Semver, other: Semver): number {
  for (const part of ['major', 'minor', 'patch'] as const) {
    if (one[part] !== other[part]) return one[part] < other[part] ? -1 : 1
  }
  return comparePrereleases(one.prerelease, other.prerelease)
}

/** A release is newer than its prereleases; of two lists that begin alike, the longer one is newer. */
function comparePrereleases(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 || other.length === 0) return other.length - one.length
  for (let index = 0; index < Math.min(one.length, other.length); index++) {
    const order = compareIdentifiers(one[index] ?? '', other[index] ?? '')
    if (order !== 0) return order
  }
  return one.length - other.length
}

function compareIdentifiers(one: string, other: string): number {
  const [oneIsNumber, otherIsNumber] = [/^[0-9]+$/.test(one), /^[0-9]+$/.test(other)]
  if (oneIsNumber !== otherIsNumber) return oneIsNumber ? -1 : 1
  if (oneIsNumber && BigInt(one) !== BigInt(other)) return BigInt(one) < BigInt(other) ? -1 : 1
  return one < other ? -1 : one > other ? 1 : 0
}
