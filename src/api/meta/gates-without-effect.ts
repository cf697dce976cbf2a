import { FeatureGates } from './feature-gates.ts'

/** Of `A=true` and `B=false` those that ask for something else than there is, and do not get it: they are not among the `effective`. */
export function gatesWithoutEffect(given: readonly string[], effective: ReadonlySet<string>): string[] {
  const usual = new FeatureGates()
  const asked = new FeatureGates(given.join(','))
  const names = given.map((text) => (text.split('=')[0] ?? '').trim().replace(/^kube:/, ''))
  return names.filter(
    (name) =>
      name !== '' && name !== 'AllAlpha' && name !== 'AllBeta' && !effective.has(name) && usual.isEnabled(name) !== asked.isEnabled(name),
  )
}
