/** What drivers have said of how their devices are. Word that is too old is no word. */
import type { Clock } from '#base/clock.ts'
import type { DeviceHealth } from '#wire/kubelet/dra-messages.ts'

export type Health = 'Healthy' | 'Unhealthy' | 'Unknown'

type HealthReport = { health: Health; updatedMs: number; lastsMs: number; message: string }

const usualLastsMs = 30_000
const longestMessage = 1024
const words: readonly Health[] = ['Unknown', 'Healthy', 'Unhealthy']

export class DeviceHealths {
  readonly #clock: Clock
  readonly #reports = new Map<string, Map<string, HealthReport>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Devices that the driver does not speak of any more are unknown. Returns those whose health has changed, as `pool/device`. */
  update(driver: string, devices: readonly DeviceHealth[] | undefined): Set<string> {
    const before = this.#reports.get(driver) ?? new Map<string, HealthReport>()
    const after = new Map<string, HealthReport>()
    for (const { device, health, lastUpdatedTime, healthCheckTimeoutSeconds, message } of devices ?? []) {
      after.set(keyOf(device?.poolName ?? '', device?.deviceName ?? ''), {
        health: words[health] ?? 'Unknown',
        updatedMs: lastUpdatedTime > 0 ? lastUpdatedTime * 1000 : this.#clock.now(),
        lastsMs: healthCheckTimeoutSeconds > 0 ? healthCheckTimeoutSeconds * 1000 : usualLastsMs,
        message: message.length <= longestMessage ? message : `${message.slice(0, longestMessage - 3)}...`,
      })
    }
    this.#reports.set(driver, after)
    const keys = new Set([...before.keys(), ...after.keys()])
    return new Set(
      [...keys].filter((key) => before.get(key)?.health !== after.get(key)?.health || before.get(key)?.message !== after.get(key)?.message),
    )
  }

  of(driver: string, pool: string, device: string): { health: Health; message: string } {
    const report = this.#reports.get(driver)?.get(keyOf(pool, device))
    if (report === undefined || this.#clock.now() - report.updatedMs > report.lastsMs) return { health: 'Unknown', message: '' }
    return { health: report.health, message: report.message }
  }
}

const keyOf = (pool: string, device: string): string => `${pool}/${device}`
