/** The plugin's part of the AdmissionConfiguration: defaults for namespaces without labels, and who is exempt. */
import { aggregateMessages, fieldErrorText } from '#api/meta/aggregate.ts'
import { Check } from '#api/meta/check.ts'
import { dns1123Label, dns1123Subdomain } from '#api/meta/names.ts'
import { type LevelVersion, levelFault, parseLevel, parseVersion, versionFault } from '#apiserver/admission/pod-security/level-version.ts'
import { type Mode, modes, type Policy } from '#apiserver/admission/pod-security/namespace-policy.ts'

type PodSecurityConfiguration = {
  defaults?: Readonly<Record<string, string>>
  exemptions?: { usernames?: string[]; namespaces?: string[]; runtimeClasses?: string[] }
}

export type Exemptions = {
  readonly usernames: ReadonlySet<string>
  readonly namespaces: ReadonlySet<string>
  readonly runtimeClasses: ReadonlySet<string>
}

/** Throws an Error that names what is wrong. */
export function readConfiguration(configuration: unknown): { defaults: Policy; exemptions: Exemptions } {
  const { defaults = {}, exemptions = {} } = (configuration ?? {}) as PodSecurityConfiguration
  const check = new Check({ defaults, exemptions })
  const levelVersion = (mode: Mode): LevelVersion => {
    const [levelText, versionText] = [defaults[mode] || 'privileged', defaults[`${mode}-version`] || 'latest']
    const [level, minor] = [parseLevel(levelText), parseVersion(versionText)]
    if (level === undefined) check.at('defaults').at(mode).invalid(levelFault, levelText)
    if (minor === undefined) check.at('defaults').at(`${mode}-version`).invalid(versionFault, versionText)
    return { level: level ?? 'restricted', minor: minor ?? 0 }
  }
  const exempt = (list: keyof Exemptions, faultsOf: (name: string) => string[]): ReadonlySet<string> => {
    const names = new Set<string>()
    for (const [index, name] of (exemptions[list] ?? []).entries()) {
      const faults = faultsOf(name)
      const place = check.at('exemptions').at(list).at(index)
      if (faults.length > 0) place.invalid(faults.join(', '), name)
      else if (names.has(name)) place.duplicate(name)
      names.add(name)
    }
    return names
  }
  const policy = Object.fromEntries(modes.map((mode) => [mode, levelVersion(mode)])) as Policy
  const exempted: Exemptions = {
    namespaces: exempt('namespaces', dns1123Label),
    runtimeClasses: exempt('runtimeClasses', dns1123Subdomain),
    usernames: exempt('usernames', (name) => (name === '' ? ['username must not be empty'] : [])),
  }
  if (check.failed) throw new Error(`the configuration of PodSecurity is wrong: ${aggregateMessages(check.errors.map(fieldErrorText))}`)
  return { defaults: policy, exemptions: exempted }
}
