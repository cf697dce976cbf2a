/** Which requests a webhook or a policy is about: operations on resources. */
import type { V1NamedRuleWithOperations, V1RuleWithOperations } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { mustBe, pathSegmentName } from '#api/meta/names.ts'

export function defaultRules(rules: readonly V1RuleWithOperations[] | undefined): void {
  for (const rule of rules ?? []) rule.scope ??= '*'
}

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']
const scopes = ['*', 'Cluster', 'Namespaced']

export function validateRule(check: Check<V1RuleWithOperations>): void {
  const rule = check.value
  validateExclusiveWildcard(check.at('operations'), 'operations')
  check.at('operations').each((item) => {
    const operation = item.value
    if (!operations.includes(operation)) item.notSupported(operations)
  })
  validateExclusiveWildcard(check.at('apiGroups'), 'API groups')
  validateExclusiveWildcard(check.at('apiVersions'), 'API versions')
  check.at('apiVersions').each((item) => {
    const version = item.value
    if (version === '') item.required()
  })
  validateResources(check.at('resources').or([]))
  if (rule.scope != null && !scopes.includes(rule.scope)) check.at('scope').notSupported(scopes)
}

function validateExclusiveWildcard(check: Check<readonly string[] | undefined>, plural: string): void {
  const values = check.value
  if (!values?.length) check.required()
  else if (values.length > 1 && values.includes('*')) check.invalid(`if '*' is present, must not specify other ${plural}`)
}

function validateResources(check: Check<readonly string[]>): void {
  const resources = check.value
  if (resources.length === 0) check.required()
  const withAllSubresources = new Set<string>()
  const ofAllResources = new Set<string>()
  let lastBareIsNamed = false
  check.each((item) => {
    const text = item.value
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
    if (withAllSubresources.has(resource)) item.invalid(`if '${resource}/*' is present, must not specify ${text}`)
    if (ofAllResources.has(subresource)) item.invalid(`if '*/${subresource}' is present, must not specify ${text}`)
    if (subresource === '*') withAllSubresources.add(resource)
    if (resource === '*') ofAllResources.add(subresource)
  })
  if (resources.length > 1 && resources.includes('*/*')) {
    check.invalid("if '*/*' is present, must not specify other resources")
  }
  if (resources.includes('*') && lastBareIsNamed) {
    check.invalid("if '*' is present, must not specify other resources without subresources")
  }
}

export function validateNamedRule(check: Check<V1NamedRuleWithOperations>): void {
  const names = new Set<string>()
  check.at('resourceNames').each((item) => {
    const name = item.value
    mustBe(pathSegmentName, item)
    if (names.has(name)) item.duplicate()
    names.add(name)
  })
  validateRule(check)
}
