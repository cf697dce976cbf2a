import { Namespace } from '#api/core/v1/kinds.gen.ts'
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import { type Check, furtherErrors } from '#api/meta/check.ts'
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
    labelWithName(next)
  },
  // Metadata is validated in between, hence not before.
  revalidatesMetadata: false,
  validateUpdate(next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Label })
    validateSpec(next, check)
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
  },

  columns: [
    nameColumn,
    { name: 'Status', type: 'string', description: 'The status of the namespace', cell: ({ status }) => status?.phase ?? '' },
    ageColumn,
  ],
  fieldSelectors: { 'status.phase': ({ status }) => status?.phase ?? '' },

  subresources: {
    status: {
      validateUpdate(next, _prev, check) {
        const phase = next.status?.phase ?? ''
        const [expected, when] = next.metadata.deletionTimestamp ? ['Terminating', 'is not empty'] : ['Active', 'is empty']
        if (phase !== expected) {
          check.at('status').dynamic('Phase').invalid(`may only be '${expected}' if \`deletionTimestamp\` ${when}`, phase)
        }
      },
    },
    finalize: {
      resetFields: ['status'],
      prepareForUpdate: (next, prev) => putBack(next, prev, 'status'),
      validateUpdate(_next, _prev, check) {
        for (const at of check.at('spec').at('finalizers').items()) {
          validateFinalizer(at)
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

function validateSpec({ spec }: V1Namespace, check: Check<V1Namespace>): void {
  for (const finalizer of spec.finalizers ?? []) validateFinalizer(check.at('spec').at('finalizers').with(finalizer))
}

/** `check` stands where errors are reported, which is not always the finalizer's own place. */
function validateFinalizer(check: Check<string>): void {
  const finalizer = check.value
  validateFinalizers(check.with([finalizer]))
  if (!finalizer.includes('/')) validateUndomained(check)
}

function validateUndomained(check: Check<string>): void {
  const finalizer = check.value
  const before = check.errors.length
  validateQualifiedFinalizers(check.with([finalizer]))
  for (const error of check.errors.slice(before)) if (error !== furtherErrors) error.field = check.path
}
