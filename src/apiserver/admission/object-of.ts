/** What a request writes, as an object of the kind that a plugin is asked about. */
import type { Kind } from '#api/kind.ts'
import { groupKindText } from '#api/meta/gvk.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'

type Written = Pick<AdmissionRequest, 'definition' | 'object' | 'oldObject'>

/** The object as it shall be. */
export function objectOf<T extends KubernetesObject>(kind: Kind<T>, { definition, object }: Written): T {
  return ofKind(kind, definition, object)
}

/** The object as it was. */
export function oldObjectOf<T extends KubernetesObject>(kind: Kind<T>, { definition, oldObject }: Written): T {
  return ofKind(kind, definition, oldObject)
}

/** A plugin that is asked about something else names the wrong resources, which no request shall pay for silently. */
function ofKind<T extends KubernetesObject>(kind: Kind<T>, written: Kind, object: KubernetesObject | undefined): T {
  if (written.kind !== kind.kind || written.group !== kind.group) {
    throw new Error(`an admission plugin for ${groupKindText(kind)} was asked about ${groupKindText(written)}`)
  }
  if (object === undefined) throw new Error(`an admission plugin asks for a ${groupKindText(kind)} that the request does not have`)
  return object as T
}
