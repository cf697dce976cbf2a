/** The authorizers of a server, fed from its own objects, in the order its flags give. */
import type { V1PersistentVolume, V1Pod } from '#api/core/v1/types.gen.ts'
import type { V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { V1VolumeAttachment } from '#api/storage/v1/types.gen.ts'
import type { ClusterView } from '#apiserver/admission/admission.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import { alwaysAllow, alwaysDeny, authorizerChain, privilegedGroup } from '#apiserver/authz/chain.ts'
import { nodeAuthorizer, nodeIdentity } from '#apiserver/authz/node/node-authorizer.ts'
import { NodeGraph } from '#apiserver/authz/node/node-graph.ts'
import { defaultRbacObjects } from '#apiserver/authz/rbac/default-roles.ts'
import { RbacAuthorizer } from '#apiserver/authz/rbac/rbac-authorizer.ts'
import type { ClusterRole, RbacKind, RbacKinds } from '#apiserver/authz/rbac/rbac-objects.ts'

/** A mode, and the authorizer where it is not one that every server has. */
export type ChosenAuthorizer = { readonly mode: string; readonly authorizer?: Authorizer }

export type StandardAuthorizer = Authorizer & {
  readonly rbac: RbacAuthorizer
  /** Asks these from now on. */
  use(chosen: readonly ChosenAuthorizer[]): void
  /** Begins to follow the cluster's roles, bindings, pods and volumes. */
  follow(cluster: ClusterView): Disposable
}

const rbacKinds: Readonly<Record<RbacKind, string>> = {
  Role: 'roles',
  ClusterRole: 'clusterroles',
  RoleBinding: 'rolebindings',
  ClusterRoleBinding: 'clusterrolebindings',
}

export function standardAuthorizer(first: readonly ChosenAuthorizer[]): StandardAuthorizer {
  const rbac = new RbacAuthorizer()
  const graph = new NodeGraph()
  let pods: ReturnType<ClusterView['onChange']> | undefined
  const known: Readonly<Record<string, () => Authorizer>> = {
    RBAC: () => rbac,
    Node: () => onceComplete(nodeAuthorizer({ graph, rules: nodeRules() }), () => pods?.caughtUp),
    AlwaysAllow: () => alwaysAllow,
    AlwaysDeny: () => alwaysDeny,
  }
  const chainOf = (chosen: readonly ChosenAuthorizer[]) => {
    const members = chosen.map(({ mode, authorizer }) => {
      const member = authorizer ?? known[mode]?.()
      if (member === undefined)
        throw new Error(`--authorization-mode: there is no mode ${mode}; there are ${Object.keys(known).join(', ')}, ABAC, Webhook`)
      return member
    })
    return authorizerChain([privilegedGroup('system:masters'), ...members])
  }
  let chain = chainOf(first)
  return {
    authorize: (attributes) => chain.authorize(attributes),
    rulesFor: (user, namespace) => chain.rulesFor?.(user, namespace) ?? noRules,
    rbac,
    use(chosen) {
      chain = chainOf(chosen)
    },
    follow(cluster) {
      pods = followPods(cluster, graph)
      const following = follow(cluster, rbac, graph)
      following.use(pods)
      return following
    },
  }
}

const noRules = { resourceRules: [], nonResourceRules: [], incomplete: true }

function nodeRules() {
  const role = defaultRbacObjects().find(({ kind, object }) => kind === 'ClusterRole' && object.metadata.name === 'system:node')
  return (role?.object as ClusterRole | undefined)?.rules ?? []
}

/** There may be a hundred thousand pods, and only nodes have to wait until all are known. */
function followPods(cluster: ClusterView, graph: NodeGraph): ReturnType<ClusterView['onChange']> {
  const onChange = (object: KubernetesObject, isDeleted: boolean) => {
    const pod = object as V1Pod
    if (isDeleted) graph.removePod(pod.metadata.namespace ?? '', pod.metadata.name ?? '')
    else graph.upsertPod(pod)
  }
  return cluster.onChange('', 'pods', onChange, true)
}

function onceComplete(authorizer: Authorizer, incomplete: () => Promise<void> | undefined): Authorizer {
  return {
    ...authorizer,
    authorize(attributes) {
      const waiting = nodeIdentity(attributes.user) === undefined ? undefined : incomplete()
      return waiting === undefined ? authorizer.authorize(attributes) : waiting.then(() => authorizer.authorize(attributes))
    },
  }
}

function follow(cluster: ClusterView, rbac: RbacAuthorizer, graph: NodeGraph): DisposableStack {
  const following = new DisposableStack()
  for (const [kind, plural] of Object.entries(rbacKinds) as [RbacKind, string][]) {
    following.use(
      cluster.onChange('rbac.authorization.k8s.io', plural, (object, isDeleted) => {
        const { namespace = '', name = '' } = object.metadata ?? {}
        if (isDeleted) rbac.remove(kind, namespace, name)
        else rbac.upsert(kind, object as unknown as RbacKinds[RbacKind])
      }),
    )
  }
  const feed = <T>(group: string, plural: string, set: (object: T) => void, remove: (object: T) => void) =>
    following.use(cluster.onChange(group, plural, (object, isDeleted) => (isDeleted ? remove(object as T) : set(object as T))))
  feed<V1PersistentVolume>(
    '',
    'persistentvolumes',
    (volume) => graph.upsertPersistentVolume(volume),
    ({ metadata }) => graph.removePersistentVolume(metadata.name ?? ''),
  )
  feed<V1VolumeAttachment>(
    'storage.k8s.io',
    'volumeattachments',
    ({ metadata, spec }) => graph.upsertOfNode('volumeAttachment', '', metadata?.name ?? '', spec.nodeName),
    ({ metadata }) => graph.removeOfNode('volumeAttachment', '', metadata?.name ?? ''),
  )
  feed<V1ResourceSlice>(
    'resource.k8s.io',
    'resourceslices',
    ({ metadata, spec }) => graph.upsertOfNode('resourceSlice', '', metadata?.name ?? '', spec.nodeName ?? ''),
    ({ metadata }) => graph.removeOfNode('resourceSlice', '', metadata?.name ?? ''),
  )
  return following
}
