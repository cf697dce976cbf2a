/** Definitions had one version at first: what that has may stand beside the versions, and then holds for all of them. */

import type {
  V1CustomResourceColumnDefinition,
  V1CustomResourceConversion,
  V1CustomResourceDefinition,
  V1CustomResourceDefinitionSpec,
  V1CustomResourceDefinitionVersion,
} from '#api/apiextensions/v1/types.gen.ts'
import { unversionedSpec } from '#api/apiextensions/v1/unversioned-spec.ts'
import type {
  V1beta1CustomResourceColumnDefinition,
  V1beta1CustomResourceConversion,
  V1beta1CustomResourceDefinition,
  V1beta1CustomResourceDefinitionSpec,
  V1beta1CustomResourceDefinitionVersion,
} from '#api/apiextensions/v1beta1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export function definitionToV1(definition: V1beta1CustomResourceDefinition): V1CustomResourceDefinition {
  return { ...definition, spec: specToV1(definition.spec ?? {}) } as V1CustomResourceDefinition
}

function specToV1(spec: V1beta1CustomResourceDefinitionSpec): V1CustomResourceDefinitionSpec {
  const { version = '', versions = [], validation, subresources, additionalPrinterColumns, selectableFields, ...shared } = spec
  const { conversion, preserveUnknownFields = false, ...others } = shared
  const ofAll = {
    ...defined({ schema: validation, subresources, additionalPrinterColumns, selectableFields }),
  }
  const named = versions.length > 0 || version === '' ? versions : [{ name: version, served: true, storage: true }]
  return {
    ...others,
    versions: named.map((each) => versionToV1({ ...each, ...deepCopy(ofAll) })),
    ...defined({ conversion: conversion && conversionToV1(conversion) }),
    ...omitEmpty({ preserveUnknownFields }),
  } as V1CustomResourceDefinitionSpec
}

function versionToV1({ additionalPrinterColumns, ...version }: V1beta1CustomResourceDefinitionVersion): V1CustomResourceDefinitionVersion {
  const columns = additionalPrinterColumns?.map(({ JSONPath, ...column }) => ({ ...column, jsonPath: JSONPath }))
  return { ...version, ...defined({ additionalPrinterColumns: columns }) } as V1CustomResourceDefinitionVersion
}

function conversionToV1(conversion: V1beta1CustomResourceConversion): V1CustomResourceConversion {
  const { strategy, webhookClientConfig: clientConfig, conversionReviewVersions } = conversion
  if (clientConfig === undefined && conversionReviewVersions === undefined) return { strategy }
  return { strategy, webhook: { ...defined({ clientConfig }), conversionReviewVersions: conversionReviewVersions ?? [] } }
}

export function definitionFromV1(definition: V1CustomResourceDefinition): V1beta1CustomResourceDefinition {
  const { versions, additionalPrinterColumns, conversion, ...spec } = unversionedSpec(definition.spec)
  return {
    ...definition,
    spec: {
      ...spec,
      versions: versions?.map(({ additionalPrinterColumns: columns, ...version }) => ({ ...version, ...columnsFromV1(columns) })),
      ...columnsFromV1(additionalPrinterColumns),
      ...defined({ conversion }),
    },
  } as V1beta1CustomResourceDefinition
}

type Columns = { additionalPrinterColumns?: V1beta1CustomResourceColumnDefinition[] }

function columnsFromV1(columns: V1CustomResourceColumnDefinition[] | undefined): Columns {
  return columns === undefined
    ? {}
    : { additionalPrinterColumns: columns.map(({ jsonPath, ...column }) => ({ ...column, JSONPath: jsonPath })) }
}
