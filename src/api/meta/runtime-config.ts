/** Which versions a server serves: `--runtime-config`, feature gates, and the old versions. */
import type { ResourceDefinition } from '#api/resource.ts'
import { apiVersionOf } from './gvk.ts'

export type ServingOptions = {
  isEnabled(featureGate: string): boolean
  /** `api/all=false,apps/v1=true,batch/v1/jobs=false`; the more precise key wins. */
  runtimeConfig?: string
  /** Versions that upstream serves no more. */
  legacyApis: boolean
  /** Others may not be switched; every one may where it is absent. */
  knownGroups?: ReadonlySet<string>
}

type Served = Pick<ResourceDefinition, 'group' | 'version' | 'plural' | 'stability' | 'featureGate'>

/** Validates definitions one by one. Throws an Error in upstream's words for a flag it does not understand. */
export function servingFilter({ isEnabled, runtimeConfig = '', legacyApis, knownGroups }: ServingOptions): (definition: Served) => boolean {
  const wanted = parseRuntimeConfig(runtimeConfig)
  const unknown = [...wanted.keys()].filter((key) => knownGroups !== undefined && !isKnown(key, knownGroups))
  if (unknown.length > 0) throw new Error(`unknown api groups ${unknown.sort().join(',')}`)
  return ({ group, version, plural, stability, featureGate }) => {
    if (featureGate !== undefined && !isEnabled(featureGate)) return false
    const apiVersion = apiVersionOf({ group, version })
    // The core group is named by its path.
    const key = group === '' ? `api/${apiVersion}` : apiVersion
    const exact = wanted.get(`${key}/${plural}`) ?? wanted.get(`${apiVersion}/${plural}`) ?? wanted.get(key) ?? wanted.get(apiVersion)
    if (exact !== undefined) return exact
    const byStage = wanted.get(`api/${stageOf(version)}`) ?? wanted.get('api/all')
    if (byStage !== undefined && stability !== 'legacy') return byStage
    return stability === undefined || (stability === 'legacy' && legacyApis)
  }
}

function stageOf(version: string): 'alpha' | 'beta' | 'ga' {
  if (/^v\d+alpha\d+$/.test(version)) return 'alpha'
  return /^v\d+beta\d+$/.test(version) ? 'beta' : 'ga'
}

function isKnown(key: string, groups: ReadonlySet<string>): boolean {
  const [group = '', version = ''] = key.split('/')
  return stageKeys.has(key) || (group === 'api' ? version === 'v1' : groups.has(group) || group === 'v1')
}

const stageKeys = new Set(['api/all', 'api/ga', 'api/beta', 'api/alpha'])

function parseRuntimeConfig(text: string): Map<string, boolean> {
  const wanted = new Map<string, boolean>()
  for (const part of text.split(',').filter((each) => each.trim() !== '')) {
    const [key = '', value = ''] = part.split('=', 2).map((each) => each.trim())
    if (stageKeys.has(key) && value !== 'true' && value !== 'false') throw new Error(`invalid value ${key}=${value}`)
    if (!stageKeys.has(key) && ![2, 3].includes(key.split('/').length)) throw new Error(`runtime-config invalid key ${key}`)
    if (!/^(?:|1|t|T|TRUE|true|True|0|f|F|FALSE|false|False)$/.test(value)) {
      throw new Error(`invalid value of ${key}: ${value}, err: strconv.ParseBool: parsing "${value}": invalid syntax`)
    }
    wanted.set(key, value === '' || /^[1tT]/.test(value))
  }
  return wanted
}
