/** The objects that parameterize a policy: their kind, and which of them a binding picks. */
import type { V1ParamKind, V1ParamRef } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { validateLabelSelector } from '#api/meta/labels.ts'
import { dns1035Label, dns1123Subdomain, mustBe, pathSegmentName } from '#api/meta/names.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'

export function validateParamKind(check: Check<V1ParamKind>): void {
  const { apiVersion = '', kind = '' } = check.value
  if (apiVersion === '') check.at('apiVersion').required()
  else validateApiVersion(check.at('apiVersion').or(''))
  if (kind === '') check.at('kind').required()
  else {
    const errors = dns1035Label(kind.toLowerCase())
    if (errors.length > 0)
      check
        .at('kind')
        .or('')
        .invalid(`may have mixed case, but should otherwise match: ${errors.join(',')}`)
  }
}

function validateApiVersion(check: Check<string>): void {
  const apiVersion = check.value
  const parts = apiVersion === '/' ? [''] : apiVersion.split('/')
  if (parts.length > 2) {
    check.invalid(`unexpected GroupVersion string: ${apiVersion}`)
    return
  }
  const [group, version] = parts.length === 2 ? parts : ['', parts[0]]
  if (group) {
    const errors = dns1123Subdomain(group)
    if (errors.length > 0) check.invalid(errors.join(','), group)
  }
  if (!version) check.invalid('version must be specified')
  else {
    const errors = dns1035Label(version)
    if (errors.length > 0) check.invalid(errors.join(','), version)
  }
}

const notFoundActions = ['Deny', 'Allow']
const mutuallyExclusive = 'name and selector are mutually exclusive'

export function validateParamRef(check: Check<V1ParamRef | undefined>): void {
  const reference = check.value
  if (reference == null) return
  const { name = '', selector, parameterNotFoundAction: action } = reference
  if (name !== '') {
    mustBe(pathSegmentName, check.at('name').or(''))
    if (selector != null) check.at('name').forbidden(mutuallyExclusive)
  }
  if (selector != null) {
    validateLabelSelector(check.at('selector'))
    if (name !== '') check.at('selector').forbidden(mutuallyExclusive)
  } else if (name === '') check.required('one of name or selector must be specified')
  if (!action) check.at('parameterNotFoundAction').required()
  else if (!notFoundActions.includes(action)) check.at('parameterNotFoundAction').notSupported(notFoundActions)
}

export const paramKindCell = (kind: V1ParamKind | undefined): string =>
  kind == null ? '<unset>' : `${kind.apiVersion ?? ''}/${kind.kind ?? ''}`

/** A name without a namespace may be that of a cluster-scoped object as well, hence the star. */
export function paramRefCell(reference: V1ParamRef | undefined): string {
  if (reference?.name) return `${reference.namespace || '*'}/${reference.name}`
  return reference?.selector == null ? '<unset>' : selectorCell(reference.selector)
}

/** The selector as Go prints the struct. */
function selectorCell({ matchLabels = {}, matchExpressions = [] }: V1LabelSelector): string {
  const labels = Object.keys(matchLabels)
    .sort()
    .map((key) => `${key}: ${matchLabels[key]},`)
  const requirements = matchExpressions.map(
    ({ key, operator, values = [] }) => `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  )
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${requirements.join('')}},}`
}
