import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import type { SchedulerClient } from '#scheduler/framework/plugin-handle.ts'
import { failed } from '#scheduler/framework/status.ts'

/** Tells the API server where the pod goes. */
export const defaultBinder = ({ client }: { client: SchedulerClient }) =>
  defineSchedulerPlugin({
    name: 'DefaultBinder',
    async bind({ pod }, nodeName) {
      try {
        await client.bind(pod, nodeName)
        return undefined
      } catch (error) {
        return failed(error)
      }
    },
  })
