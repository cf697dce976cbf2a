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
  validate: (ingressClass, check) => validateSpec(ingressClass, check.at('spec')),
  validateUpdate(next, prev, check) {
    mustNotChange(next.spec?.controller ?? '', prev.spec?.controller ?? '', check.at('spec.controller'))
    validateObjectMeta(next.metadata, { scope: 'Cluster', nameRule: nameIsDns1123Subdomain }, check.at('metadata'))
    validateSpec(next, check.at('spec'))
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

function validateSpec({ spec }: V1IngressClass, check: Check): void {
  const controller = spec?.controller ?? ''
  if (byteLength(controller) > maxControllerLength) check.at('controller').tooLong(maxControllerLength)
  domainPrefixedPath(controller, check.at('controller'))
  if (spec?.parameters != null) validateParameters(spec.parameters, check.at('parameters'))
}

function validateParameters({ apiGroup, kind, name, scope, namespace }: V1IngressClassParametersReference, check: Check): void {
  if (apiGroup != null) mustBe(dns1123Subdomain, apiGroup, check.at('apiGroup'))
  if (!kind) check.at('kind').required()
  else mustBe(pathSegmentName, kind, check.at('kind'))
  if (!name) check.at('name').required()
  else mustBe(pathSegmentName, name, check.at('name'))

  switch (scope) {
    case undefined:
      check.at('scope').required()
      return
    case 'Namespace':
      if (namespace == null) check.at('namespace').required("`parameters.scope` is set to 'Namespace'")
      else mustBe(dns1123Label, namespace, check.at('namespace'))
      return
    case 'Cluster':
      if (namespace != null) check.at('namespace').forbidden("`parameters.scope` is set to 'Cluster'")
      return
    default:
      check.at('scope').notSupported(scope, ['Cluster', 'Namespace'])
  }
}
