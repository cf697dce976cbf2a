import { Namespace } from '#api/core/v1/kinds.gen.ts'
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { nameIsDns1123Label } from '#api/meta/names.ts'
import { validateFinalizers, validateObjectMeta, validateObjectMetaUpdate, validateQualifiedFinalizers } from '#api/meta/object-meta.ts'
import { putBack } from '#api/meta/put-back.ts'
import { defineResource } from '#api/resource.ts'

/** Every namespace carries its own name as a label, so that selectors can name single ones. */
const nameLabel = 'kubernetes.io/metadata.name'
const kubeFinalizer = 'kubernetes'

export const namespaceResource = defineResource(Namespace, {
  nameRule: nameIsDns1123Label,
  allowUnconditionalUpdate: true,
  returnsDeletedObject: true,
  resetFields: ['status'],

  defaults(namespace) {
    namespace.spec ??= {}
    labelWithName(namespace)
    namespace.status ??= {}
    namespace.status.phase ||= 'Active'
  },

  prepareForCreate(namespace) {
    namespace.status = { phase: 'Active' }
    const finalizers = namespace.spec.finalizers ?? []
    if (!finalizers.includes(kubeFinalizer)) namespace.spec.finalizers = [...finalizers, kubeFinalizer]
    // A generated name was not known yet when defaults were filled in.
    labelWithName(namespace)
  },
  validate: validateSpec,

  prepareForUpdate(next, prev) {
    putBack(next.spec, prev.spec, 'finalizers')
    putBack(next, prev, 'status')
    labelWithName(next)
  },
  // Metadata is judged in between, hence not before.
  rejudgesMetadata: false,
  validateUpdate(next, prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Cluster', nameRule: nameIsDns1123Label }, check.at('metadata'))
    validateSpec(next, check)
    validateObjectMetaUpdate(next.metadata, prev.metadata, check.at('metadata'))
  },

  columns: [
    nameColumn,
    { name: 'Status', type: 'string', description: 'The status of the namespace', cell: ({ status }) => status?.phase ?? '' },
    ageColumn,
  ],
  fieldSelectors: { 'status.phase': ({ status }) => status?.phase ?? '' },

  subresources: {
    status: {
      resetFields: ['spec'],
      prepareForUpdate: (next, prev) => putBack(next, prev, 'spec'),
      validateUpdate(next, _prev, check) {
        const phase = next.status?.phase ?? ''
        const [expected, when] = next.metadata.deletionTimestamp ? ['Terminating', 'is not empty'] : ['Active', 'is empty']
        if (phase !== expected) {
          check.at('status.Phase').invalid(phase, `may only be '${expected}' if \`deletionTimestamp\` ${when}`)
        }
      },
    },
    finalize: {
      resetFields: ['status'],
      prepareForUpdate: (next, prev) => putBack(next, prev, 'status'),
      validateUpdate(next, _prev, check) {
        for (const [index, finalizer] of (next.spec.finalizers ?? []).entries()) {
          validateFinalizer(finalizer, check.at('spec.finalizers').at(index))
        }
      },
    },
  },
})

function labelWithName({ metadata }: V1Namespace): void {
  if (!metadata.name) return
  metadata.labels ??= {}
  metadata.labels[nameLabel] = metadata.name
}

function validateSpec({ spec }: V1Namespace, check: Check): void {
  for (const finalizer of spec.finalizers ?? []) validateFinalizer(finalizer, check.at('spec.finalizers'))
}

/** `check` stands where errors are reported, which is not always the finalizer's own place. */
function validateFinalizer(finalizer: string, check: Check): void {
  validateFinalizers([finalizer], check)
  if (!finalizer.includes('/')) validateUndomained(finalizer, check)
}

function validateUndomained(finalizer: string, check: Check): void {
  const before = check.errors.length
  validateQualifiedFinalizers([finalizer], check)
  for (const error of check.errors.slice(before)) error.field = check.path
}
