/** What a kubelet may say of its own node: not where it wants others to put their pods. */

import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import type { NodeRules } from '#apiserver/admission/node-restriction/node-restriction.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'

const same = equalityOf(Node)

export const nodeRules: NodeRules = {
  nodes(request, nodeName) {
    const self = `node "${nodeName}"`
    const name = request.name || request.object?.metadata?.name
    if (name !== nodeName) throw forbid(request, `${self} is not allowed to modify node "${name ?? ''}"`)
    if (request.operation === 'DELETE') return
    const node = objectOf(Node, request)
    if (request.operation === 'CREATE') {
      if (node.spec?.configSource !== undefined) {
        throw forbid(request, `${self} is not allowed to create pods with a non-nil configSource`)
      }
      const refused = forbiddenLabels(node, undefined)
      if (refused.length > 0) throw forbid(request, `${self} is not allowed to set the following labels: ${refused.join(', ')}`)
    }
    if (request.operation !== 'UPDATE') return
    const prev = oldObjectOf(Node, request)
    if (node.spec?.configSource !== undefined && !same.at('spec').at('configSource')(node.spec.configSource, prev.spec?.configSource)) {
      throw forbid(request, `${self} is not allowed to update configSource to a new non-nil configSource`)
    }
    if (!same.at('spec').at('taints')(node.spec?.taints, prev.spec?.taints))
      throw forbid(request, `${self} is not allowed to modify taints`)
    if (!same.at('metadata').at('ownerReferences')(node.metadata?.ownerReferences, prev.metadata?.ownerReferences)) {
      throw forbid(request, `${self} is not allowed to modify ownerReferences`)
    }
    const refused = forbiddenLabels(node, prev)
    if (refused.length > 0) throw forbid(request, `is not allowed to modify labels: ${refused.join(', ')}`)
  },
}

/** Labels of Kubernetes' own that kubelets set. */
const agentLabels = new Set([
  ...['kubernetes.io/hostname', 'topology.kubernetes.io/zone', 'topology.kubernetes.io/region'],
  ...['failure-domain.beta.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/region'],
  ...['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type', 'kubernetes.io/os', 'kubernetes.io/arch'],
  ...['beta.kubernetes.io/os', 'beta.kubernetes.io/arch'],
])
const agentDomains = ['kubelet.kubernetes.io', 'node.kubernetes.io']
const restrictedDomain = 'node-restriction.kubernetes.io'

/** Labels that the write changes and the agent may not, sorted. */
function forbiddenLabels(next: V1Node, prev: V1Node | undefined): string[] {
  const [now, before] = [next.metadata?.labels ?? {}, prev?.metadata?.labels ?? {}]
  return [...new Set([...Object.keys(now), ...Object.keys(before)])].filter((key) => now[key] !== before[key] && !maySet(key)).sort()
}

function maySet(key: string): boolean {
  const slash = key.indexOf('/')
  const domain = slash < 0 ? '' : key.slice(0, slash)
  if (isWithin(domain, restrictedDomain)) return false
  if (!isWithin(domain, 'kubernetes.io') && !isWithin(domain, 'k8s.io')) return true
  return agentLabels.has(key) || agentDomains.some((each) => isWithin(domain, each))
}

const isWithin = (domain: string, parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`)
