/** Which requests a webhook or a policy is about: operations on resources. */
import type { V1NamedRuleWithOperations, V1RuleWithOperations } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { each } from '#api/meta/each.ts'
import { mustBe, pathSegmentName } from '#api/meta/names.ts'

export function defaultRules(rules: readonly V1RuleWithOperations[] | undefined): void {
  for (const rule of rules ?? []) rule.scope ??= '*'
}

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']
const scopes = ['*', 'Cluster', 'Namespaced']

export function validateRule(rule: V1RuleWithOperations, check: Check): void {
  validateExclusiveWildcard(rule.operations, check.at('operations'), 'operations')
  each(rule.operations, check.at('operations'), (operation, item) => {
    if (!operations.includes(operation)) item.notSupported(operation, operations)
  })
  validateExclusiveWildcard(rule.apiGroups, check.at('apiGroups'), 'API groups')
  validateExclusiveWildcard(rule.apiVersions, check.at('apiVersions'), 'API versions')
  each(rule.apiVersions, check.at('apiVersions'), (version, item) => {
    if (version === '') item.required()
  })
  validateResources(rule.resources ?? [], check.at('resources'))
  if (rule.scope != null && !scopes.includes(rule.scope)) check.at('scope').notSupported(rule.scope, scopes)
}

function validateExclusiveWildcard(values: readonly string[] | undefined, check: Check, plural: string): void {
  if (!values?.length) check.required()
  else if (values.length > 1 && values.includes('*')) check.invalid(values, `if '*' is present, must not specify other ${plural}`)
}

function validateResources(resources: readonly string[], check: Check): void {
  if (resources.length === 0) check.required()
  const withAllSubresources = new Set<string>()
  const ofAllResources = new Set<string>()
  let lastBareIsNamed = false
  each(resources, check, (text, item) => {
    if (text === '') {
      item.required()
      return
    }
    const slash = text.indexOf('/')
    if (slash < 0) {
      // Only the last bare entry counts, as upstream overwrites what it knew of the ones before.
      lastBareIsNamed = text !== '*'
      return
    }
    const [resource, subresource] = [text.slice(0, slash), text.slice(slash + 1)]
    if (withAllSubresources.has(resource)) item.invalid(text, `if '${resource}/*' is present, must not specify ${text}`)
    if (ofAllResources.has(subresource)) item.invalid(text, `if '*/${subresource}' is present, must not specify ${text}`)
    if (subresource === '*') withAllSubresources.add(resource)
    if (resource === '*') ofAllResources.add(subresource)
  })
  if (resources.length > 1 && resources.includes('*/*')) {
    check.invalid(resources, "if '*/*' is present, must not specify other resources")
  }
  if (resources.includes('*') && lastBareIsNamed) {
    check.invalid(resources, "if '*' is present, must not specify other resources without subresources")
  }
}

export function validateNamedRule(rule: V1NamedRuleWithOperations, check: Check): void {
  const names = new Set<string>()
  each(rule.resourceNames, check.at('resourceNames'), (name, item) => {
    mustBe(pathSegmentName, name, item)
    if (names.has(name)) item.duplicate(name)
    names.add(name)
  })
  validateRule(rule, check)
}
