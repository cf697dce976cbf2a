/** Admission webhooks as values: what they are asked about, and one function. */

import type { V1AdmissionRequest, V1AdmissionResponse } from '#api/admission/v1/types.gen.ts'
import type { V1ValidatingWebhook } from '#api/admissionregistration/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { jsonDiff } from '#cmd/operator/json-diff.ts'

type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

export type Review<T> = {
  readonly operation: Operation
  /** What there was; absent on create. */
  readonly old: T | undefined
  readonly user: { readonly username?: string; readonly groups?: readonly string[] }
  readonly isDryRun: boolean
  readonly request: V1AdmissionRequest
  /** Tells the user something without refusing. */
  warn(text: string): void
}

type Matching<T extends KubernetesObject> = Partial<
  Pick<V1ValidatingWebhook, 'failurePolicy' | 'namespaceSelector' | 'objectSelector' | 'matchConditions' | 'timeoutSeconds' | 'sideEffects'>
> & {
  /** A domain name of at least three parts: `pods.example.com`. */
  name: string
  for: Kind<T>
  /** Create and update unless said. */
  operations?: readonly Operation[]
  /** Of this subresource instead of the object. */
  subresource?: string
}

export type ValidatingWebhookDeclaration<T extends KubernetesObject> = Matching<T> & {
  /** Why the request is refused; nothing where it is not. On DELETE the object is the one to be deleted. A StatusError thrown is the answer. */
  validate(object: T, review: Review<T>): string | undefined | Promise<string | undefined>
}

export type MutatingWebhookDeclaration<T extends KubernetesObject> = Matching<T> & {
  /** Changes the object in place. A StatusError thrown refuses the request. */
  mutate(object: T, review: Review<T>): void | Promise<void>
}

export type AdmissionWebhook = {
  readonly name: string
  readonly isMutating: boolean
  /** Where it is served. */
  readonly path: string
  /** All that its configuration says, its address apart. */
  readonly configuration: Omit<V1ValidatingWebhook, 'clientConfig'>
  answer(request: V1AdmissionRequest): Promise<V1AdmissionResponse>
}

export function defineValidatingWebhook<T extends KubernetesObject>({
  validate,
  ...matching
}: ValidatingWebhookDeclaration<T>): AdmissionWebhook {
  return webhookOf(matching, 'validate', async (object, review) => {
    const refusal = await validate(object, review)
    return refusal === undefined ? { allowed: true } : { allowed: false, status: { code: 403, reason: 'Forbidden', message: refusal } }
  })
}

export function defineMutatingWebhook<T extends KubernetesObject>({
  mutate,
  ...matching
}: MutatingWebhookDeclaration<T>): AdmissionWebhook {
  return webhookOf(matching, 'mutate', async (object, review) => {
    const changed = deepCopy(object)
    await mutate(changed, review)
    const patch = jsonDiff(object, changed)
    if (patch.length === 0) return { allowed: true }
    return { allowed: true, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }
  })
}

function webhookOf<T extends KubernetesObject>(
  matching: Matching<T>,
  verb: 'mutate' | 'validate',
  validate: (object: T, review: Review<T>) => Promise<V1AdmissionResponse>,
): AdmissionWebhook {
  const { name, for: kind, operations = ['CREATE', 'UPDATE'], subresource, sideEffects = 'None', ...rest } = matching
  const resource = subresource === undefined ? kind.plural : `${kind.plural}/${subresource}`
  const rule = { apiGroups: [kind.group], apiVersions: [kind.version], resources: [resource], operations: [...operations], scope: '*' }
  return {
    name,
    isMutating: verb === 'mutate',
    path: `/${verb}/${name}`,
    configuration: { name, rules: [rule], sideEffects, admissionReviewVersions: ['v1'], ...rest },
    async answer(request) {
      const warnings: string[] = []
      const old = (request.oldObject ?? undefined) as T | undefined
      const review: Review<T> = {
        operation: request.operation as Operation,
        old,
        user: request.userInfo ?? {},
        isDryRun: request.dryRun ?? false,
        request,
        warn: (text) => void warnings.push(text),
      }
      const answer = await validate((request.object ?? old ?? {}) as T, review).catch((error: unknown) => {
        if (error instanceof StatusError) return { allowed: false, status: error.status }
        throw error
      })
      return { uid: request.uid ?? '', ...answer, ...omitEmpty({ warnings }) }
    },
  }
}
