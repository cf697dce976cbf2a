import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { AdmissionOperation, AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'

/** A request to admission that is told in the end whether anything was written. */
export type FinishedRequest = AdmissionRequest & { finish(wasWritten: boolean): void }

export type AdmittedWrite = {
  definition: ResourceDefinition
  operation: AdmissionOperation
  name: string
  object: KubernetesObject | undefined
  oldObject: KubernetesObject | undefined
}

export function admissionRequest(write: AdmittedWrite, context: WriteContext): FinishedRequest {
  const { resource, subresource, namespace, options, isDryRun, user, deadlineMs, warn, annotateAudit, seen } = context
  const callbacks: ((wasWritten: boolean) => void)[] = []
  const shown = (object: KubernetesObject | undefined) => (seen === undefined || object === undefined ? object : seen.of(object))
  return {
    ...write,
    object: shown(write.object),
    oldObject: shown(write.oldObject),
    resource,
    kind: seen?.kind ?? context.kind,
    subresource,
    namespace,
    options,
    isDryRun,
    user,
    deadlineMs,
    warn,
    annotateAudit,
    onFinish: (callback) => callbacks.push(callback),
    finish(wasWritten) {
      for (const callback of callbacks.splice(0)) callback(wasWritten)
    },
  }
}

/** The request as plugins that validate see it: the rules of the kind have changed the object since it was made. */
export function validatedRequest(request: FinishedRequest, object: KubernetesObject, { seen }: WriteContext): FinishedRequest {
  return seen === undefined ? request : { ...request, object: seen.of(object) }
}
