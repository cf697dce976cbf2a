import { ResourceQuota } from '#api/core/v1/kinds.gen.ts'
import { type ResourceList, roundUpToMillis, validateResourceQuantity } from '#api/core/v1/quantities.ts'
import { isStandardQuotaResource, validateQuotaResourceName } from '#api/core/v1/resource-names.ts'
import type { V1ResourceQuota, V1ResourceQuotaSpec, V1ResourceQuotaStatus } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { canonicalQuantity, compareQuantities } from '#api/meta/quantity.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'

export const resourceQuotaResource = defineResource(ResourceQuota, {
  allowUnconditionalUpdate: true,
  returnsDeletedObject: true,

  defaults({ spec, status }) {
    roundUpToMillis(spec?.hard)
    roundUpToMillis(status?.hard)
    roundUpToMillis(status?.used)
  },

  validate(_object, check) {
    validateSpec(check.at('spec').or({}))
    validateStatus(check.at('status').or({}))
  },
  warningsOnCreate: quotaWarnings,

  validateUpdate(next, prev, check) {
    validateSpec(check.at('spec').or({}))
    const [now, then] = [new Set(next.spec?.scopes), new Set(prev.spec?.scopes)]
    if (now.symmetricDifference(then).size > 0) {
      check.at('spec').at('scopes').invalid('field is immutable', asInternal('[s', next.spec?.scopes))
    }
  },

  columns: [
    nameColumn,
    {
      name: 'Request',
      type: 'string',
      description: 'Request represents a minimum amount of cpu/memory that a container may consume.',
      cell: ({ status }) => usageText(status, (name) => !isLimit(name)),
    },
    {
      name: 'Limit',
      type: 'string',
      description: 'Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.',
      cell: ({ status }) => usageText(status, isLimit),
    },
    ageColumn,
  ],

  subresources: {
    status: {
      validateUpdate(next, _prev, check) {
        if (!next.metadata.resourceVersion) check.dynamic('resourceVersion').required()
        validateStatus(check.at('status').or({}))
      },
    },
  },
})

const isLimit = (name: string): boolean => name.startsWith('limits.')

function usageText(status: V1ResourceQuotaStatus | undefined, isShown: (name: string) => boolean): string {
  const shown = (list: ResourceList | undefined, name: string) => canonicalQuantity(list?.[name] ?? '0')
  const names = Object.keys(status?.hard ?? {})
    .filter(isShown)
    .sort()
  return names.map((name) => `${name}: ${shown(status?.used, name)}/${shown(status?.hard, name)}`).join(', ')
}

function validateStatus(check: Check<V1ResourceQuotaStatus>): void {
  validateList(check.at('hard'))
  validateList(check.at('used'))
}

function validateList(check: Check<ResourceList | undefined>): void {
  const list = check.value
  for (const name in list) {
    const at = check.key(name)
    validateQuotaResourceName(at.with(name))
    validateResourceQuantity(name, at.or('0'))
  }
}

const presenceScopes = ['Terminating', 'NotTerminating', 'BestEffort', 'NotBestEffort', 'CrossNamespacePodAffinity']
const knownScopes = [...presenceScopes, 'PriorityClass', 'VolumeAttributesClass']
const conflicts = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const

const podResources = ['pods', 'cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory']

function isScopeOf(scope: string, resource: string): boolean {
  if (scope === 'BestEffort') return resource === 'pods'
  if (scope === 'VolumeAttributesClass') return resource === 'persistentvolumeclaims' || resource === 'requests.storage'
  return !knownScopes.includes(scope) || podResources.includes(resource)
}

const isMisplaced = (scope: string) => (resource: string) => isStandardQuotaResource(resource) && !isScopeOf(scope, resource)

function validateSpec(check: Check<V1ResourceQuotaSpec>): void {
  const spec = check.value
  validateList(check.at('hard'))
  const resources = Object.keys(spec.hard ?? {}).sort()
  validateScopes(check.at('scopes').or([]), resources)
  if (spec.scopeSelector) validateScopeSelector(spec, resources, check.at('scopeSelector').at('matchExpressions'))
}

function validateScopes(check: Check<readonly string[]>, resources: readonly string[]): void {
  const scopes = check.value
  for (const scope of scopes) {
    if (!knownScopes.includes(scope)) check.invalid('unsupported scope')
    for (const _ of resources.filter(isMisplaced(scope))) check.invalid('unsupported scope applied to resource')
  }
  validateNoConflict(new Set(scopes), check)
}

function validateNoConflict(seen: ReadonlySet<string>, check: Check<readonly string[] | undefined>): void {
  const shown = check.value
  for (const [one, other] of conflicts) {
    if (seen.has(one) && seen.has(other)) check.invalid('conflicting scopes', asInternal('[s', shown))
  }
}

/** `check` stands at the list, which is also where upstream reports what is wrong with an item. */
function validateScopeSelector({ scopeSelector, scopes }: V1ResourceQuotaSpec, resources: readonly string[], check: Check<unknown>): void {
  const seen = new Set<string>()
  let shown: unknown
  for (const { scopeName = '', operator = '', values = [] } of scopeSelector?.matchExpressions ?? []) {
    if (!knownScopes.includes(scopeName)) check.dynamic('scopeName').invalid('unsupported scope', scopeName)
    for (const _ of resources.filter(isMisplaced(scopeName))) {
      shown ??= asInternal('*core.ScopeSelector', scopeSelector)
      check.invalid('unsupported scope applied to resource', shown)
    }
    if (presenceScopes.includes(scopeName) && operator !== 'Exists') check.dynamic('operator').invalid(mustBeExists, operator)
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0) {
        check.dynamic('values').required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
      }
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      const message = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
      if (values.length > 0) check.dynamic('values').invalid(message, values)
    } else check.dynamic('operator').invalid('not a valid selector operator', operator)
    seen.add(scopeName)
  }
  validateNoConflict(seen, check.with(scopes))
}

const mustBeExists =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"

function quotaWarnings({ spec }: V1ResourceQuota): string[] {
  const hard = spec?.hard ?? {}
  const warnings: string[] = []
  for (const name of ['cpu', 'memory', 'storage', 'ephemeral-storage']) {
    const hasShortName = name === 'cpu' || name === 'memory'
    const requestName = hard[`requests.${name}`] === undefined && hasShortName ? name : `requests.${name}`
    const [request, limit] = [hard[requestName], hard[`limits.${name}`]]
    if (request === undefined || limit === undefined || compareQuantities(request, limit) <= 0) continue
    const shown = (quantity: string) => canonicalQuantity(quantity)
    warnings.push(`ResourceQuota ${requestName} (${shown(request)}) should be less than limits.${name} (${shown(limit)})`)
  }
  return warnings
}
