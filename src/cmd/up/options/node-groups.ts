import { defineOptions, repeated } from '#base/options.ts'
import { autoscalingOptions } from '#cmd/cluster-autoscaler/flags.ts'

/** Nodes that come and go; the other names are the cluster autoscaler's. */
export const nodeGroupOptions = defineOptions({
  nodeGroup: repeated(
    'let the cluster autoscaler add and remove nodes of this group: MIN:MAX:NAME; simulated ones, where there is no other kind or with ' +
      ',simulated, may have a shape: 0:9:big,simulated,cpu=16,memory=64Gi,price=0.8,boot=90s,zone=a,label=K=V,taint=K=V:NoSchedule; may be repeated',
    { placeholder: 'GROUP', isCommon: true, default: [] },
  ),
  ...autoscalingOptions,
})
