/** Which versions of which kinds are served: the stable ones, and others as asked. */
import type { ResourceDefinition } from '#api/resource.ts'

export type ServedKindsOptions = {
  /** `--runtime-config`: `api/all=true`, `api/beta=true`, `storage.k8s.io/v1beta1=true`, `group/version/resource=false`. */
  runtimeConfig: readonly string[]
  servesLegacyApis: boolean
  isEnabled(featureGate: string): boolean
}

export function servedKinds(
  definitions: readonly ResourceDefinition[],
  { runtimeConfig, servesLegacyApis, isEnabled }: ServedKindsOptions,
): ResourceDefinition[] {
  const switches = new Map(runtimeConfig.map(parseSwitch))
  return definitions.filter((definition) => {
    if (definition.featureGate !== undefined && !isEnabled(definition.featureGate)) return false
    const asked = switchFor(definition, switches)
    if (asked !== undefined) return asked
    if (definition.stability === 'legacy') return servesLegacyApis
    return definition.stability === undefined
  })
}

function parseSwitch(text: string): [string, boolean] {
  const [name = '', value = 'true'] = text.split('=')
  if (value !== 'true' && value !== 'false') throw new Error(`--runtime-config: ${text} is neither true nor false`)
  return [name, value === 'true']
}

/** The most particular switch wins. */
function switchFor({ group, version, plural, stability }: ResourceDefinition, switches: ReadonlyMap<string, boolean>): boolean | undefined {
  const groupVersion = group === '' ? `api/${version}` : `${group}/${version}`
  return (
    switches.get(`${groupVersion}/${plural}`) ??
    switches.get(groupVersion) ??
    switches.get(`api/${stability ?? 'ga'}`) ??
    switches.get('api/all')
  )
}
