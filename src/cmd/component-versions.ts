/** `--emulated-version` and `--min-compatibility-version` of components: there is one version, and no other is played. */
import type { Logger } from '#base/log.ts'
import { defineOptions, list } from '#base/options.ts'
import { kubernetesVersion } from '#cmd/version.ts'

type VersionFlags = { emulatedVersion: readonly string[]; minCompatibilityVersion: readonly string[] }
type Version = { major: number; minor: number; text: string }

const placeholder = '[kube=]MAJOR.MINOR'
export const versionOptions = defineOptions({
  emulatedVersion: list('behave as this version; has no effect here', { placeholder, default: [] }),
  minCompatibilityVersion: list('get along with components of this version; has no effect here', { placeholder, default: [] }),
})

/** How far back upstream goes. */
const oldestMinor = 33

/** Refuses, in upstream's words, what is no version or out of range; says once that others than the usual ones have no effect. */
export function checkVersions({ emulatedVersion, minCompatibilityVersion }: VersionFlags, logger: Logger): void {
  const own = versionOf(/^v\d+\.\d+/.exec(kubernetesVersion)?.[0] ?? '')
  const oldest = { major: own.major, minor: oldestMinor, text: `${own.major}.${oldestMinor}` }
  const emulated = chosen(emulatedVersion)
  const compatible = chosen(minCompatibilityVersion)
  const highest = emulated ?? own
  const problems: string[] = []
  if (emulated !== undefined && !isBetween(emulated, oldest, own))
    problems.push(`emulation version ${emulated.text} is not between [${oldest.text}, ${own.text}.0]`)
  // Unless it is said, a component gets along with the version before the one that it plays.
  const least = compatible ?? before(highest, oldest)
  if (!isBetween(least, oldest, highest))
    problems.push(`minCompatibilityVersion version ${least.text} is not between [${oldest.text}, ${highest.text}]`)
  if (problems.length > 0) throw new Error(problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`)
  const flags = [
    ...(emulated !== undefined && compare(emulated, own) !== 0 ? [`--emulated-version=${emulated.text}`] : []),
    ...(compatible !== undefined && compare(compatible, before(own, oldest)) !== 0
      ? [`--min-compatibility-version=${compatible.text}`]
      : []),
  ]
  if (flags.length > 0) logger.warn('flags without effect', { flags })
}

function before({ major, minor }: Version, oldest: Version): Version {
  const text = `${major}.${Math.max(minor - 1, oldest.minor)}`
  return { major, minor: Math.max(minor - 1, oldest.minor), text }
}

const compare = (one: Version, other: Version): number => one.major - other.major || one.minor - other.minor
const isBetween = (version: Version, low: Version, high: Version): boolean => compare(version, low) >= 0 && compare(version, high) <= 0

/** The one for `kube`, which is meant where no component is named. */
function chosen(given: readonly string[]): Version | undefined {
  let found: { text: string; version: Version } | undefined
  for (const part of given.flatMap((value) => value.split(',')).filter((value) => value !== '')) {
    const pair = part.includes('=') ? part : `kube=${part}`
    const [component = '', value = ''] = pair.split('=')
    if (component !== 'kube') throw new Error(`component not registered: ${component}`)
    if (/^v?\d+\.\d+\.\d/.test(value)) throw new Error(`patch version not allowed, got: ${pair}`)
    if (found !== undefined) throw new Error(`duplicate version flag, ${found.text} and ${pair}`)
    found = { text: pair, version: versionOf(value) }
  }
  return found?.version
}

function versionOf(text: string): Version {
  const [, major, minor] = /^v?(\d+)\.(\d+)$/.exec(text) ?? []
  if (major === undefined || minor === undefined)
    throw new Error(
      /^\d+$/.test(text) ? `illegal version string ${JSON.stringify(text)}` : `could not parse ${JSON.stringify(text)} as version`,
    )
  return { major: Number(major), minor: Number(minor), text: `${Number(major)}.${Number(minor)}` }
}
