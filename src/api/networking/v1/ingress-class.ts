import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { domainPrefixedPath } from '#api/meta/formats.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { byteLength, dns1123Label, dns1123Subdomain, mustBe, nameIsDns1123Subdomain, pathSegmentName } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { IngressClass } from '#api/networking/v1/kinds.gen.ts'
import type { V1IngressClass, V1IngressClassParametersReference } from '#api/networking/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

const maxControllerLength = 250

/** Names the controller that implements the ingresses of this class. */
export const ingressClassResource = defineResource(IngressClass, {
  generation: 'spec',
  allowUnconditionalUpdate: true,

  defaults({ spec }) {
    if (spec?.parameters != null) spec.parameters.scope ??= 'Cluster'
  },
  validate: (_ingressClass, check) => validateSpec(check.at('spec')),
  validateUpdate(_next, prev, check) {
    mustNotChange(check.at('spec').at('controller').or(''), prev.spec?.controller ?? '')
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Subdomain })
    validateSpec(check.at('spec'))
  },

  columns: [
    {
      ...nameColumn,
      cell: ({ metadata }) => `${metadata.name ?? ''}${isDefaultClass(metadata) ? ' (default)' : ''}`,
    },
    {
      name: 'Controller',
      type: 'string',
      description: 'Controller that is responsible for handling this class',
      cell: ({ spec }) => spec?.controller ?? '',
    },
    {
      name: 'Parameters',
      type: 'string',
      description: 'A reference to a resource with additional parameters',
      cell: ({ spec }) => parametersCell(spec?.parameters),
    },
    ageColumn,
  ],
})

function isDefaultClass(metadata: V1IngressClass['metadata']): boolean {
  return metadata.annotations?.['ingressclass.kubernetes.io/is-default-class'] === 'true'
}

function parametersCell(parameters: V1IngressClassParametersReference | undefined): string {
  if (parameters == null) return '<none>'
  const { apiGroup, kind, name } = parameters
  return `${apiGroup == null ? kind : `${kind}.${apiGroup}`}/${name}`
}

function validateSpec(check: Check<V1IngressClass['spec']>): void {
  const spec = check.value
  const controller = spec?.controller ?? ''
  if (byteLength(controller) > maxControllerLength) check.at('controller').tooLong(maxControllerLength)
  domainPrefixedPath(check.at('controller').or(''))
  if (spec?.parameters != null) validateParameters(check.at('parameters').present)
}

function validateParameters(check: Check<V1IngressClassParametersReference>): void {
  const { apiGroup, kind, name, scope, namespace } = check.value
  if (apiGroup != null) mustBe(dns1123Subdomain, check.at('apiGroup').present)
  if (!kind) check.at('kind').required()
  else mustBe(pathSegmentName, check.at('kind'))
  if (!name) check.at('name').required()
  else mustBe(pathSegmentName, check.at('name'))

  switch (scope) {
    case undefined:
      check.at('scope').required()
      return
    case 'Namespace':
      if (namespace == null) check.at('namespace').required("`parameters.scope` is set to 'Namespace'")
      else mustBe(dns1123Label, check.at('namespace').present)
      return
    case 'Cluster':
      if (namespace != null) check.at('namespace').forbidden("`parameters.scope` is set to 'Cluster'")
      return
    default:
      check.at('scope').notSupported(['Cluster', 'Namespace'])
  }
}
