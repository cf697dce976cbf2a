/**
 * Definitions as upstream validates them. What all versions have in common stands above the versions, as it did in v1beta1;
 * paths in errors tell so: `spec.validation.openAPIV3Schema`.
 */

import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import type {
  V1CustomResourceColumnDefinition,
  V1CustomResourceDefinitionNames,
  V1CustomResourceDefinitionSpec,
  V1CustomResourceDefinitionVersion,
  V1CustomResourceSubresources,
  V1CustomResourceValidation,
  V1JSONSchemaProps,
  V1SelectableField,
  V1WebhookClientConfig,
} from '#api/apiextensions/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'

const sameVersion = equalityOf(CustomResourceDefinition).at('spec').at('versions').each

export type UnversionedSpec = {
  group: string
  version: string
  names: Partial<V1CustomResourceDefinitionNames>
  scope: string
  versions: V1CustomResourceDefinitionVersion[] | undefined
  validation?: V1CustomResourceValidation | undefined
  subresources?: V1CustomResourceSubresources | undefined
  additionalPrinterColumns?: V1CustomResourceColumnDefinition[] | undefined
  selectableFields?: V1SelectableField[] | undefined
  preserveUnknownFields: boolean
  conversion?: { strategy: string; webhookClientConfig?: V1WebhookClientConfig; conversionReviewVersions: string[] }
}

export function unversionedSpec(spec: V1CustomResourceDefinitionSpec): UnversionedSpec {
  const { group = '', names = {}, scope = '', versions, conversion, preserveUnknownFields = false } = spec ?? {}
  const result: UnversionedSpec = { group, names, scope, versions, preserveUnknownFields, version: versions?.[0]?.name ?? '' }
  if (conversion != null) {
    const { strategy = '', webhook } = conversion
    result.conversion = { strategy, conversionReviewVersions: webhook?.conversionReviewVersions ?? [] }
    if (webhook?.clientConfig != null) result.conversion.webhookClientConfig = webhook.clientConfig
  }
  const [first] = versions ?? []
  if (first === undefined || versions === undefined) return result

  const isShared = (field: keyof V1CustomResourceDefinitionVersion) =>
    versions.every((version) => sameVersion.at(field)(version[field], first[field]))
  const { schema, subresources, additionalPrinterColumns, selectableFields } = first
  const shared = (['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const).filter(isShared)
  if (shared.includes('schema')) result.validation = schema
  if (shared.includes('subresources')) result.subresources = subresources
  if (shared.includes('additionalPrinterColumns')) result.additionalPrinterColumns = additionalPrinterColumns
  if (shared.includes('selectableFields')) result.selectableFields = selectableFields
  result.versions = versions.map((version) => {
    const own = { ...version }
    for (const field of shared) if (field in own) delete own[field]
    return own
  })
  return result
}

/** The schemas there are, wherever they stand. */
export function schemasOf({ validation, versions }: UnversionedSpec): V1JSONSchemaProps[] {
  return [validation, ...(versions ?? []).map(({ schema }) => schema)].flatMap((each) => each?.openAPIV3Schema ?? [])
}

/** The schema that holds for the version. */
export function schemaFor(spec: UnversionedSpec, name: string): V1JSONSchemaProps | undefined {
  const version = spec.versions?.find((each) => each.name === name)
  return version === undefined ? undefined : (version.schema ?? spec.validation)?.openAPIV3Schema
}
