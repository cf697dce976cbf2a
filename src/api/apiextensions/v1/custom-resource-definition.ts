import { approvalAnnotation, approvalOf, isCommunityGroup } from '#api/apiextensions/v1/approval.ts'
import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import { isKnownFormat } from '#api/apiextensions/v1/schema/formats.ts'
import { someSchema } from '#api/apiextensions/v1/schema/walk.ts'
import { isEstablished, isOldVersion, relaxedFor, strict, strictnessFor } from '#api/apiextensions/v1/strictness.ts'
import type { V1CustomResourceDefinition, V1CustomResourceDefinitionStatus } from '#api/apiextensions/v1/types.gen.ts'
import { schemasOf, unversionedSpec } from '#api/apiextensions/v1/unversioned-spec.ts'
import { validateNames, validateSpec } from '#api/apiextensions/v1/validate-definition.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { defaultColumns } from '#api/meta/columns.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Adds a kind to the API. */
export const customResourceDefinitionResource = defineResource(CustomResourceDefinition, {
  storagePath: 'apiextensions.k8s.io/customresourcedefinitions',
  nameRule: nameIsDns1123Subdomain,
  finalizers: 'any',
  generation: 'spec',
  columns: defaultColumns,

  defaults(definition) {
    definition.spec ??= { group: '', names: { plural: '', kind: '' }, scope: '', versions: [] }
    const { spec } = definition
    spec.names ??= { plural: '', kind: '' }
    const { names } = spec
    if (names.kind) {
      names.singular ||= names.kind.toLowerCase()
      names.listKind ||= `${names.kind}List`
    }
    spec.conversion ??= { strategy: 'None' }
    const service = spec.conversion.webhook?.clientConfig?.service
    if (service != null) service.port ??= 443
    if (!definition.status?.storedVersions?.length) rememberStorageVersion(definition)
  },
  prepareForCreate(definition) {
    definition.status = {}
    rememberStorageVersion(definition)
  },
  prepareForUpdate(next) {
    rememberStorageVersion(next)
  },
  *validate(definition, check, { requestVersion }) {
    validateName(definition, check.at('metadata'))
    const spec = unversionedSpec(definition.spec)
    yield
    yield* validateSpec(check.at('spec').with(spec), relaxedFor(requestVersion, strict))
    yield
    validateStatus(definition, check.at('status'))
    if (isOldVersion(requestVersion)) return
    validateApproval(check, undefined)
    if (definition.spec.preserveUnknownFields) check.at('spec').at('preserveUnknownFields').invalid(preserveInSchema, true)
  },
  *validateUpdate(next, prev, check, { requestVersion }) {
    const spec = unversionedSpec(next.spec)
    yield
    const prevSpec = unversionedSpec(prev.spec)
    yield
    const strictness = yield* strictnessFor(spec, prevSpec, isEstablished(prev))
    yield* validateSpec(check.at('spec').with(spec), relaxedFor(requestVersion, strictness))
    if (isEstablished(prev)) {
      mustNotChange(check.at('spec').at('scope').with(spec.scope), prevSpec.scope)
      mustNotChange(check.at('spec').at('names').at('kind').with(spec.names.kind), prevSpec.names.kind)
    }
    mustNotChange(check.at('spec').at('group').with(spec.group), prevSpec.group)
    mustNotChange(check.at('spec').at('names').at('plural').with(spec.names.plural), prevSpec.names.plural)
    yield
    validateStatus(next, check.at('status'))
    if (isOldVersion(requestVersion)) return
    validateApproval(check, prev)
    if (next.spec.preserveUnknownFields && !prev.spec.preserveUnknownFields) {
      check.at('spec').at('preserveUnknownFields').invalid(preserveInSchema, true)
    }
  },
  warningsOnCreate: (definition) => unknownFormats(definition).map(formatWarning),
  warningsOnUpdate(next, prev) {
    const known = new Set(unknownFormats(prev))
    return unknownFormats(next)
      .filter((format) => !known.has(format))
      .map(formatWarning)
  },

  subresources: {
    status: {
      validateUpdate: (_next, _prev, check) => validateAcceptedNames(check.at('status')),
    },
  },
})

const preserveInSchema = 'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead'

/** Objects may be stored in the storage version from now on. */
function rememberStorageVersion(definition: V1CustomResourceDefinition): void {
  const storage = definition.spec?.versions?.find((version) => version.storage)?.name
  const stored = definition.status?.storedVersions ?? []
  if (storage === undefined || stored.includes(storage)) return
  definition.status = { ...definition.status, storedVersions: [...stored, storage] }
}

function validateName({ metadata, spec }: V1CustomResourceDefinition, check: Check<V1ObjectMeta>): void {
  const required = `${spec.names.plural ?? ''}.${spec.group ?? ''}`
  for (const field of ['generateName', 'name'] as const) {
    const value = metadata?.[field] ?? ''
    if (value !== '' && value !== required) check.at(field).invalid('must be spec.names.plural+"."+spec.group')
  }
}

function validateAcceptedNames(check: Check<V1CustomResourceDefinitionStatus | undefined>): void {
  const status = check.value
  if (status?.acceptedNames != null) validateNames(check.at('acceptedNames').present)
}

function validateStatus({ spec, status }: V1CustomResourceDefinition, check: Check<V1CustomResourceDefinitionStatus | undefined>): void {
  validateAcceptedNames(check.with(status))
  const place = check.at('storedVersions')
  const stored = status?.storedVersions ?? []
  if (stored.length === 0) {
    place.invalid('must have at least one stored version', status?.storedVersions ?? null)
    return
  }
  const versions = spec.versions ?? []
  const isStored = new Set(stored)
  const isVersion = new Set(versions.map(({ name }) => name))
  for (const { name, storage } of versions) {
    if (storage && !isStored.has(name)) place.invalid(`must have the storage version ${name}`, stored)
  }
  for (const [index, version] of stored.entries()) {
    if (isVersion.has(version)) continue
    place
      .at(index)
      .invalid(
        `missing from spec.versions; ${version} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${version} and removes ${version} from status.storedVersions`,
        version,
      )
  }
}

function validateApproval(check: Check<V1CustomResourceDefinition>, prev: V1CustomResourceDefinition | undefined): void {
  const next = check.value
  if (!isCommunityGroup(next.spec.group)) return
  const { state, reason } = approvalOf(next)
  if (prev !== undefined && approvalOf(prev).state === state) return
  const place = check.at('metadata').at('annotations').key(approvalAnnotation)
  if (state === 'missing') place.required(reason)
  else if (state === 'invalid') place.invalid(reason)
}

function unknownFormats(definition: V1CustomResourceDefinition): string[] {
  const formats: string[] = []
  for (const schema of schemasOf(unversionedSpec(definition.spec))) {
    someSchema(schema, ({ format, type }) => {
      if (format && !isKnownFormat(format, type)) formats.push(format)
      return false
    })
  }
  return formats
}

const formatWarning = (format: string): string => `unrecognized format ${quoted(format)}`
