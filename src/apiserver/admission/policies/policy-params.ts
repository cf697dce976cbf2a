import type { V1ParamKind, V1ParamRef } from '#api/admissionregistration/v1/types.gen.ts'
import { parseApiVersion } from '#api/meta/gvk.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

/** What a binding hands to its policy, once for each: undefined where it takes nothing. Throws what is wrong with it. */
export function paramsOf(
  paramKind: V1ParamKind | undefined,
  paramRef: V1ParamRef | undefined,
  namespace: string,
  cluster: ClusterView,
): (KubernetesObject | undefined)[] {
  if (paramKind === undefined || paramRef === undefined) return [undefined]
  const { group, resource, isNamespaced } = paramResource(paramKind, cluster)
  if (!isNamespaced && paramRef.namespace) throw new Error('paramRef.namespace must not be provided for a cluster-scoped `paramKind`')
  const inNamespace = isNamespaced ? paramRef.namespace || namespace : ''
  if (isNamespaced && inNamespace === '')
    throw new Error('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources')
  const found = paramRef.name
    ? [cluster.dynamic.get(group, resource, inNamespace, paramRef.name)].filter((each) => each !== undefined)
    : selected(paramRef, cluster.dynamic.list(group, resource, inNamespace))
  if (found.length === 0 && paramRef.parameterNotFoundAction === 'Deny')
    throw new Error('no params found for policy binding with `Deny` parameterNotFoundAction')
  return found.map((object) => ({ ...object, apiVersion: paramKind.apiVersion ?? '', kind: paramKind.kind ?? '' }))
}

function selected({ selector }: V1ParamRef, objects: readonly KubernetesObject[]): KubernetesObject[] {
  if (selector === undefined) throw new Error('one of name or selector must be provided')
  const compiled = labelSelectorFrom(selector)
  return objects.filter(({ metadata }) => compiled.matches(metadata?.labels))
}

/** Throws when nothing of the kind is served. */
export function paramResource({ apiVersion = '', kind = '' }: V1ParamKind, cluster: ClusterView) {
  const { group, version } = parseApiVersion(apiVersion) ?? { group: '', version: apiVersion }
  const [served] = cluster.dynamic.resourcesOfKind(group, version, kind)
  if (served === undefined)
    throw new Error(`failed to find resource referenced by paramKind: '${group === '' ? '' : `${group}/`}${version}, Kind=${kind}'`)
  return { group, ...served }
}
