/** The objects that parameterize a policy: their kind, and which of them a binding picks. */
import type { V1ParamKind, V1ParamRef } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { validateLabelSelector } from '#api/meta/labels.ts'
import { dns1035Label, dns1123Subdomain, mustBe, pathSegmentName } from '#api/meta/names.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'

export function validateParamKind({ apiVersion = '', kind = '' }: V1ParamKind, check: Check): void {
  if (apiVersion === '') check.at('apiVersion').required()
  else validateApiVersion(apiVersion, check.at('apiVersion'))
  if (kind === '') check.at('kind').required()
  else {
    const errors = dns1035Label(kind.toLowerCase())
    if (errors.length > 0) check.at('kind').invalid(kind, `may have mixed case, but should otherwise match: ${errors.join(',')}`)
  }
}

function validateApiVersion(apiVersion: string, check: Check): void {
  const parts = apiVersion === '/' ? [''] : apiVersion.split('/')
  if (parts.length > 2) {
    check.invalid(apiVersion, `unexpected GroupVersion string: ${apiVersion}`)
    return
  }
  const [group, version] = parts.length === 2 ? parts : ['', parts[0]]
  if (group) {
    const errors = dns1123Subdomain(group)
    if (errors.length > 0) check.invalid(group, errors.join(','))
  }
  if (!version) check.invalid(apiVersion, 'version must be specified')
  else {
    const errors = dns1035Label(version)
    if (errors.length > 0) check.invalid(version, errors.join(','))
  }
}

const notFoundActions = ['Deny', 'Allow']
const mutuallyExclusive = 'name and selector are mutually exclusive'

export function validateParamRef(reference: V1ParamRef | undefined, check: Check): void {
  if (reference == null) return
  const { name = '', selector, parameterNotFoundAction: action } = reference
  if (name !== '') {
    mustBe(pathSegmentName, name, check.at('name'))
    if (selector != null) check.at('name').forbidden(mutuallyExclusive)
  }
  if (selector != null) {
    validateLabelSelector(selector, check.at('selector'))
    if (name !== '') check.at('selector').forbidden(mutuallyExclusive)
  } else if (name === '') check.required('one of name or selector must be specified')
  if (!action) check.at('parameterNotFoundAction').required()
  else if (!notFoundActions.includes(action)) check.at('parameterNotFoundAction').notSupported(action, notFoundActions)
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
