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
  const { resource, kind, subresource, namespace, options, isDryRun, user, warn, annotateAudit } = context
  const callbacks: ((wasWritten: boolean) => void)[] = []
  return {
    ...write,
    resource,
    kind,
    subresource,
    namespace,
    options,
    isDryRun,
    user,
    warn,
    annotateAudit,
    onFinish: (callback) => callbacks.push(callback),
    finish(wasWritten) {
      for (const callback of callbacks.splice(0)) callback(wasWritten)
    },
  }
}
