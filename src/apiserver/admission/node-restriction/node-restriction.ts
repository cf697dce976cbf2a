import { groupResourceText } from '#api/meta/gvk.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { certificateRules } from '#apiserver/admission/node-restriction/certificate-requests.ts'
import { nodeRules } from '#apiserver/admission/node-restriction/nodes.ts'
import { ownedObjectRules } from '#apiserver/admission/node-restriction/owned-objects.ts'
import { podCertificateRules } from '#apiserver/admission/node-restriction/pod-certificates.ts'
import { podRules } from '#apiserver/admission/node-restriction/pods.ts'
import { tokenRules } from '#apiserver/admission/node-restriction/service-account-tokens.ts'
import { volumeClaimRules } from '#apiserver/admission/node-restriction/volume-claims.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'

/** Validates a write of a kubelet; throws a StatusError to refuse. */
export type NodeRule = (request: AdmissionRequest, nodeName: string) => void | Promise<void>

/** By resource, `pods` or `leases.coordination.k8s.io`; a rule is asked about all subresources. */
export type NodeRules = Readonly<Record<string, NodeRule>>

/** Kubelets write what belongs to their own node and the pods on it, and nothing else. */
export function nodeRestriction(context: AdmissionContext): AdmissionPlugin {
  const rules: NodeRules = {
    ...podRules(context),
    ...nodeRules,
    ...volumeClaimRules,
    ...tokenRules(context),
    ...podCertificateRules(context),
    ...ownedObjectRules,
    ...certificateRules(context),
  }
  return {
    name: 'NodeRestriction',
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    resources: Object.keys(rules).map((resource) => `${resource}/*`),
    mutate(request) {
      const nodeName = nodeOf(request.user)
      if (nodeName === undefined) return undefined
      if (nodeName === '') throw forbid(request, `could not determine node from user "${request.user.name}"`)
      const { group, plural } = request.definition
      return rules[groupResourceText({ group, resource: plural })]?.(request, nodeName)
    },
  }
}

const userPrefix = 'system:node:'

function nodeOf({ name, groups }: UserInfo): string | undefined {
  return name.startsWith(userPrefix) && groups.includes('system:nodes') ? name.slice(userPrefix.length) : undefined
}
