/** The authorizers of a server, fed from its own objects, in the order its flags give. */
import { Node, PersistentVolume, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import { ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import { alwaysAllow, alwaysDeny, authorizerChain, privilegedGroup } from '#apiserver/authz/chain.ts'
import { nodeAuthorizer, nodeIdentity } from '#apiserver/authz/node/node-authorizer.ts'
import { NodeGraph } from '#apiserver/authz/node/node-graph.ts'
import { defaultRbacObjects } from '#apiserver/authz/rbac/default-roles.ts'
import { RbacAuthorizer } from '#apiserver/authz/rbac/rbac-authorizer.ts'
import type { ClusterRole as ClusterRoleObject, RbacKind, RbacKinds } from '#apiserver/authz/rbac/rbac-objects.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

/** A mode, and the authorizer where it is not one that every server has. */
export type ChosenAuthorizer = { readonly mode: string; readonly authorizer?: Authorizer }

export type StandardAuthorizer = Authorizer & {
  readonly rbac: RbacAuthorizer
  /** Asks these from now on. */
  use(chosen: readonly ChosenAuthorizer[]): void
  /** Begins to follow the cluster's roles, bindings, pods and volumes. */
  follow(cluster: ClusterView): Disposable
}

const rbacKinds = { Role, ClusterRole, RoleBinding, ClusterRoleBinding } satisfies Record<RbacKind, Kind>

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
  return (role?.object as ClusterRoleObject | undefined)?.rules ?? []
}

/** There may be a hundred thousand pods, and only nodes have to wait until all are known. */
function followPods(cluster: ClusterView, graph: NodeGraph): ReturnType<ClusterView['onChange']> {
  const onChange = (pod: V1Pod, isDeleted: boolean) => {
    if (isDeleted) graph.removePod(pod.metadata.namespace ?? '', pod.metadata.name ?? '')
    else graph.upsertPod(pod)
  }
  return cluster.onChange(Pod, onChange, true)
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
  for (const name of Object.keys(rbacKinds) as RbacKind[]) {
    following.use(
      cluster.onChange(rbacKinds[name] as Kind, (object, isDeleted) => {
        const { metadata = {} } = object
        if (isDeleted) rbac.remove(name, metadata.namespace ?? '', metadata.name ?? '')
        else rbac.upsert(name, object as unknown as RbacKinds[RbacKind])
      }),
    )
  }
  const feed = <T extends KubernetesObject>(kind: Kind<T>, set: (object: T) => void, remove: (object: T) => void) =>
    following.use(cluster.onChange(kind, (object, isDeleted) => (isDeleted ? remove(object) : set(object))))
  feed(
    PersistentVolume,
    (volume) => graph.upsertPersistentVolume(volume),
    ({ metadata }) => graph.removePersistentVolume(metadata.name ?? ''),
  )
  feed(
    VolumeAttachment,
    ({ metadata, spec }) => graph.upsertOfNode('volumeAttachment', '', metadata?.name ?? '', spec.nodeName),
    ({ metadata }) => graph.removeOfNode('volumeAttachment', '', metadata?.name ?? ''),
  )
  feed(
    ResourceSlice,
    ({ metadata, spec }) => graph.upsertOfNode('resourceSlice', '', metadata?.name ?? '', spec.nodeName ?? ''),
    ({ metadata }) => graph.removeOfNode('resourceSlice', '', metadata?.name ?? ''),
  )
  feed(
    Node,
    ({ metadata, spec }) => graph.setConfigMapOfNode(metadata?.name ?? '', spec?.configSource?.configMap),
    ({ metadata }) => graph.setConfigMapOfNode(metadata?.name ?? '', undefined),
  )
  return following
}
