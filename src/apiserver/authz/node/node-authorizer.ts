import { groups, type UserInfo } from '#apiserver/authn/authenticator.ts'
import {
  type Attributes,
  type AuthorizationResult,
  type Authorizer,
  allowed,
  noOpinion,
  type UserRules,
} from '#apiserver/authz/authorizer.ts'
import type { NodeGraph, ObjectType } from '#apiserver/authz/node/node-graph.ts'
import { CompiledRole } from '#apiserver/authz/rbac/compiled-role.ts'
import type { PolicyRule } from '#apiserver/authz/rbac/rbac-objects.ts'

const userPrefix = 'system:node:'

/** The node that a user is; undefined for everybody else. Empty for a kubelet without a name. */
export function nodeIdentity({ name, groups: memberOf }: UserInfo): string | undefined {
  return name.startsWith(userPrefix) && memberOf.includes(groups.nodes) ? name.slice(userPrefix.length) : undefined
}

export type NodeAuthorizerOptions = {
  graph: NodeGraph
  /** What every node may do alike: the rules of the role system:node. */
  rules: readonly PolicyRule[]
  /** The kind is served. */
  hasPodCertificateRequests?: boolean
}

type Rule = (node: string, attributes: Attributes, graph: NodeGraph) => AuthorizationResult

/** Lets a kubelet at what its pods need and at nothing else. What its writes may contain is for admission to validate. */
export function nodeAuthorizer({ graph, rules, hasPodCertificateRequests = false }: NodeAuthorizerOptions): Authorizer {
  const common = new CompiledRole(rules)
  return {
    authorize(attributes) {
      const node = nodeIdentity(attributes.user)
      if (node === undefined) return noOpinion
      if (node === '') return no(`unknown node for user ${JSON.stringify(attributes.user.name)}`)
      if (attributes.isResourceRequest) {
        const resource = attributes.group === '' ? attributes.resource : `${attributes.resource}.${attributes.group}`
        if (resource === certificateRequests && !hasPodCertificateRequests) return noOpinion
        const rule = ruleOfResource[resource]
        if (rule !== undefined) return rule(node, attributes, graph)
        const combined = attributes.subresource === '' ? attributes.resource : `${attributes.resource}/${attributes.subresource}`
        return common.allowsResource(attributes, combined) ? allowed : noOpinion
      }
      return common.allowsPath(attributes) ? allowed : noOpinion
    },
    rulesFor(user): UserRules {
      if (nodeIdentity(user) === undefined) return { resourceRules: [], nonResourceRules: [], incomplete: false }
      return {
        resourceRules: [],
        nonResourceRules: [],
        incomplete: true,
        evaluationError: 'node authorizer does not support user rule resolution',
      }
    },
  }
}

const certificateRequests = 'podcertificaterequests.certificates.k8s.io'
const ownVerbs = ['get', 'create', 'update', 'patch', 'delete']

const ruleOfResource: Record<string, Rule> = {
  secrets: (node, attributes, graph) => readRelated(node, 'secret', attributes, graph),
  configmaps: (node, attributes, graph) => readRelated(node, 'configMap', attributes, graph),
  persistentvolumeclaims: (node, attributes, graph) => {
    if (attributes.subresource !== 'status') return getRelated(node, 'persistentVolumeClaim', attributes, graph)
    if (attributes.verb !== 'update' && attributes.verb !== 'patch') return no('can only get/update/patch this type')
    return ifRelated(node, 'persistentVolumeClaim', attributes, graph)
  },
  persistentvolumes: (node, attributes, graph) => getRelated(node, 'persistentVolume', attributes, graph),
  'resourceclaims.resource.k8s.io': (node, attributes, graph) => getRelated(node, 'resourceClaim', attributes, graph),
  'volumeattachments.storage.k8s.io': (node, attributes, graph) => getRelated(node, 'volumeAttachment', attributes, graph),
  serviceaccounts: (node, attributes, graph) => {
    const { verb, subresource, name } = attributes
    if (verb === 'get' && subresource === '') return readRelated(node, 'serviceAccount', attributes, graph)
    if (verb !== 'create' || name === '') return no('can only create tokens for individual service accounts')
    if (subresource !== 'token') return no('can only create token subresource of serviceaccount')
    return ifRelated(node, 'serviceAccount', attributes, graph)
  },
  'leases.coordination.k8s.io': (node, { verb, namespace, name }) => {
    if (!ownVerbs.includes(verb)) return no('can only get, create, update, patch, or delete a node lease')
    if (namespace !== 'kube-node-lease') return no('can only access leases in the "kube-node-lease" system namespace')
    // The name of what is created is not known here; admission looks at it.
    if (verb !== 'create' && name !== node) return no('can only access node lease with the same name as the requesting node')
    return allowed
  },
  'csinodes.storage.k8s.io': (node, { verb, subresource, name }) => {
    if (!ownVerbs.includes(verb)) return no('can only get, create, update, patch, or delete a CSINode')
    if (subresource !== '') return no('cannot authorize CSINode subresources')
    if (verb !== 'create' && name !== node) return no('can only access CSINode with the same name as the requesting node')
    return allowed
  },
  'resourceslices.resource.k8s.io': (node, attributes, graph) => {
    if (attributes.subresource !== '') return no('cannot authorize ResourceSlice subresources')
    switch (attributes.verb) {
      case 'create':
        return allowed
      case 'get':
      case 'update':
      case 'patch':
      case 'delete':
        return ifRelated(node, 'resourceSlice', attributes, graph)
      case 'watch':
      case 'list':
      case 'deletecollection':
        if (selects(attributes, 'spec.nodeName', node)) return allowed
        return no('can only list/watch/deletecollection resourceslices with nodeName field selector')
      default:
        return no(
          'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
        )
    }
  },
  nodes: (node, { verb, subresource, name }) => {
    if (subresource === 'status') return verb === 'update' || verb === 'patch' ? allowed : noOpinion
    if (subresource !== '') return noOpinion
    switch (verb) {
      case 'create':
      case 'update':
      case 'patch':
        return allowed
      case 'get':
      case 'list':
      case 'watch':
        // By name and not by the graph: an agent looks for its node before it creates it.
        if (name === node) return allowed
        if (name === '') return no(`node '${node}' cannot read all nodes, only its own Node object`)
        return no(`node '${node}' cannot read '${name}', only its own Node object`)
      default:
        return noOpinion
    }
  },
  pods: (node, attributes, graph) => {
    const { verb, subresource, name } = attributes
    switch (subresource) {
      case '':
        switch (verb) {
          case 'get':
            return getRelated(node, 'pod', attributes, graph)
          case 'list':
          case 'watch':
            if (selects(attributes, 'spec.nodeName', node)) return allowed
            if (name !== '') return ifRelated(node, 'pod', attributes, graph)
            return no('can only list/watch pods with spec.nodeName field selector')
          case 'create':
          case 'delete':
            return allowed
        }
        return noOpinion
      case 'status':
        return verb === 'update' || verb === 'patch' ? allowed : noOpinion
      case 'eviction':
        return verb === 'create' ? allowed : noOpinion
      default:
        return noOpinion
    }
  },
  [certificateRequests]: (node, attributes, graph) => {
    const { verb, subresource } = attributes
    if (subresource !== '') return no('nodes may not access the status subresource of PodCertificateRequests')
    switch (verb) {
      case 'create':
        return allowed
      case 'get':
        return ifRelated(node, 'podCertificateRequest', attributes, graph)
      case 'list':
      case 'watch':
        if (selects(attributes, 'spec.nodeName', node)) return allowed
        return no('can only list/watch podcertificaterequests with nodeName field selector')
      default:
        return no(`nodes may not ${verb} podcertificaterequests`)
    }
  },
}

function getRelated(node: string, type: ObjectType, attributes: Attributes, graph: NodeGraph): AuthorizationResult {
  if (attributes.verb !== 'get') return no('can only get individual resources of this type')
  if (attributes.subresource !== '') return no('cannot get subresource')
  return ifRelated(node, type, attributes, graph)
}

/** A list or watch of one object by its name is a read of that object. */
function readRelated(node: string, type: ObjectType, attributes: Attributes, graph: NodeGraph): AuthorizationResult {
  const { verb, subresource, namespace } = attributes
  if (verb !== 'get' && verb !== 'list' && verb !== 'watch') return no('can only read resources of this type')
  if (subresource !== '') return no('cannot read subresource')
  if (namespace === '') return no('can only read namespaced object of this type')
  return ifRelated(node, type, attributes, graph)
}

function ifRelated(node: string, type: ObjectType, { namespace, name }: Attributes, graph: NodeGraph): AuthorizationResult {
  if (name === '') return no('No Object name found')
  return graph.isRelated(node, type, namespace, name) ? allowed : no(`no relationship found between node '${node}' and this object`)
}

function selects({ fieldSelector = [] }: Attributes, field: string, value: string): boolean {
  return fieldSelector.some((requirement) => requirement.field === field && requirement.operator === '=' && requirement.value === value)
}

const no = (reason: string): AuthorizationResult => ({ decision: 'noOpinion', reason })
