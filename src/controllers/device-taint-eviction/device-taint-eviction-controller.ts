import { DeviceTaintRule } from '#api/resource/v1beta2/kinds.gen.ts'
import { evictPods } from '#controllers/device-taint-eviction/evict-pods.ts'
import { EvictionRecord } from '#controllers/device-taint-eviction/eviction-record.ts'
import { ruleStatus } from '#controllers/device-taint-eviction/rule-status.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { togetherAs } from '#controllers/runtime/together-as.ts'
import { isServed } from '#controllers/runtime/where-served.ts'

const names = {
  name: 'device-taint-eviction-controller',
  alias: 'device-taint-eviction-controller',
  serviceAccount: 'device-taint-eviction-controller',
}

/** Ends pods whose devices are tainted, by their drivers or by rules where the API server has these. */
export const deviceTaintEvictionController: Controller = {
  ...names,
  isNeeded: ({ isEnabled }) => isEnabled('DynamicResourceAllocation') && isEnabled('DRADeviceTaints'),
  async start(environment) {
    const followsRules =
      environment.settings.isEnabled('DRADeviceTaintRules') && (await isServed(DeviceTaintRule, await environment.clientFor('')))
    const record = new EvictionRecord(environment.metrics.metrics)
    const pods = evictPods({ name: names.name, record, followsRules })
    return togetherAs(names, followsRules ? [pods, ruleStatus({ name: names.name, record })] : [pods]).start(environment)
  },
}
