import { Node } from '#api/core/v1/kinds.gen.ts'
import { nodeColumns } from '#api/core/v1/node/columns.ts'
import { validateNode, validateNodeUpdate } from '#api/core/v1/node/validate-node.ts'
import { roundUpToMillis } from '#api/core/v1/quantities.ts'
import type { V1Node, V1NodeSpec } from '#api/core/v1/types.gen.ts'
import { warningsForCidr } from '#api/meta/ip.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'
import { append } from '#base/append.ts'

export const nodeResource = defineResource(Node, {
  storagePath: 'minions',
  allowUnconditionalUpdate: true,

  defaults(node) {
    node.spec ??= {}
    defaultPodCidrs(node.spec)
    const { status } = node
    if (status?.capacity && status.allocatable === undefined) status.allocatable = { ...status.capacity }
    roundUpToMillis(status?.capacity)
    roundUpToMillis(status?.allocatable)
  },

  prepareForCreate(node, context) {
    if (!context.isEnabled('DynamicKubeletConfig')) {
      delete node.spec.configSource
      delete node.status?.config
    }
    dropDeclaredFeatures(node, undefined, context)
  },
  validate: validateNode,
  warningsOnCreate: nodeWarnings,

  prepareForUpdate(next, prev, context) {
    if (prev.spec.configSource === undefined && !context.isEnabled('DynamicKubeletConfig')) delete next.spec.configSource
    dropDeclaredFeatures(next, prev, context)
  },
  // Metadata is validated in between, hence not before.
  revalidatesMetadata: false,
  validateUpdate(next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Subdomain })
    validateNode(next, check)
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
    validateNodeUpdate(check, prev)
  },
  warningsOnUpdate: nodeWarnings,

  columns: nodeColumns,
  fieldSelectors: { 'spec.unschedulable': ({ spec }) => String(spec.unschedulable ?? false) },

  subresources: {
    status: {
      isSetOnCreate: true,
      prepareForUpdate(next, prev, { isEnabled }) {
        if (prev.status?.config === undefined && !isEnabled('DynamicKubeletConfig')) delete next.status?.config
      },
      validateUpdate(_next, prev, check) {
        validateNodeUpdate(check, prev)
      },
    },
  },
})

/** The older field wins where the two disagree. */
function defaultPodCidrs(spec: V1NodeSpec): void {
  const { podCIDR, podCIDRs = [] } = spec
  if (podCIDR && podCIDRs[0] !== podCIDR) spec.podCIDRs = [podCIDR]
  else if (podCIDRs[0]) spec.podCIDR = podCIDRs[0]
}

function dropDeclaredFeatures({ status }: V1Node, prev: V1Node | undefined, { isEnabled }: RuleContext): void {
  if (status?.declaredFeatures && !isEnabled('NodeDeclaredFeatures') && !prev?.status?.declaredFeatures) delete status.declaredFeatures
}

function nodeWarnings({ spec }: V1Node): string[] {
  const warnings: string[] = []
  if (spec.configSource) warnings.push('spec.configSource: the feature is removed')
  if (spec.externalID) warnings.push('spec.externalID: this field is deprecated, and is unused by Kubernetes')
  for (const [index, cidr] of (spec.podCIDRs ?? []).entries()) append(warnings, warningsForCidr(`spec.podCIDRs[${index}]`, cidr))
  return warnings
}
