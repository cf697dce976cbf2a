import { ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1ServiceAccount } from '#api/core/v1/types.gen.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'

const mountableSecretsAnnotation = 'kubernetes.io/enforce-mountable-secrets'

export const serviceAccountResource = defineResource(ServiceAccount, {
  allowUnconditionalUpdate: true,
  returnsDeletedObject: true,

  prepareForCreate: keepOnlyNames,
  warningsOnCreate: (account) => annotationWarnings(account),

  prepareForUpdate: keepOnlyNames,
  validateUpdate(_next, _prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
  },
  warningsOnUpdate: annotationWarnings,

  columns: [nameColumn, ageColumn],
})

/** Secrets lie in the account's own namespace; what else a reference says has no meaning. */
function keepOnlyNames(account: V1ServiceAccount): void {
  if (account.secrets) account.secrets = account.secrets.map(({ name }) => (name ? { name } : {}))
}

function annotationWarnings({ metadata }: V1ServiceAccount, prev?: V1ServiceAccount): string[] {
  const has = (of: typeof metadata | undefined) => of?.annotations?.[mountableSecretsAnnotation] !== undefined
  if (!has(metadata) || has(prev?.metadata)) return []
  const message = 'deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets'
  return [`metadata.annotations[${mountableSecretsAnnotation}]: ${message}`]
}
