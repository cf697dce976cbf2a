/** Admission of what is sent to a subresource and stored nowhere: bindings, evictions, connections. */

import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { AdmissionChain, AdmissionOperation, AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type Admission = Pick<AdmissionChain, 'mutate' | 'validate'>

export type AdmittedObject = {
  operation: AdmissionOperation
  /** Of the resource the subresource belongs to. */
  definition: ResourceDefinition
  kind: { group: string; version: string; kind: string }
  name: string
  /** Plugins may change it. */
  object: KubernetesObject
  isDryRun: boolean
}

/** Throws what a plugin has against it. */
export async function admit(admission: Admission, context: RequestContext, admitted: AdmittedObject): Promise<void> {
  const request = admissionRequestOf(context, admitted)
  await admission.mutate(request)
  await admission.validate(request)
}

/** For those who have something to do between the two. */
export function admissionRequestOf(context: RequestContext, { definition, ...admitted }: AdmittedObject): AdmissionRequest {
  const { group, version, plural } = definition
  return {
    ...admitted,
    definition,
    resource: { group, version, resource: plural },
    subresource: context.info.subresource,
    namespace: context.info.namespace,
    oldObject: undefined,
    options: admitted.operation === 'CONNECT' ? {} : optionsOf(context, admitted.isDryRun),
    user: context.user,
    deadlineMs: context.deadlineMs,
    warn: context.warn,
    annotateAudit: context.annotateAudit,
    onFinish() {},
  }
}

function optionsOf({ query }: RequestContext, isDryRun: boolean): Record<string, unknown> {
  const fieldManager = query.get('fieldManager')
  return {
    kind: 'CreateOptions',
    apiVersion: 'meta.k8s.io/v1',
    ...defined({ dryRun: isDryRun ? ['All'] : undefined }),
    ...omitEmpty({ fieldManager }),
  }
}
