import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import { shownVersion } from '#apiserver/admission/shown-version.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

/** The request with its objects in the version that a policy is written for. */
export async function seenIn(
  resource: AdmissionRequest['resource'],
  request: AdmissionRequest,
  cluster: ClusterView,
): Promise<AdmissionRequest> {
  if (isStoredVersion(resource, request)) return request
  const shown = shownVersion(request, resource, cluster)
  const [object, oldObject] = await Promise.all([shown.object(), shown.oldObject()])
  return { ...request, object, oldObject }
}

/** Nothing has to be converted, as is nearly always so. */
export function isStoredVersion(
  { group, version, resource }: AdmissionRequest['resource'],
  { definition, kind }: AdmissionRequest,
): boolean {
  return (group === definition.group && version === definition.version && resource === definition.plural) || kind.kind !== definition.kind
}
