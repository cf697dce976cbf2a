/** Rules for the name of the strategy by which the server picks a leader. */
import type { Check } from '#api/meta/check.ts'
import { mustBe, qualifiedName } from '#api/meta/names.ts'

/** Other people's strategies have a domain. `check` stands at the strategy; upstream's messages name a field of that name below it. */
export function validateCoordinatedStrategy(check: Check<string>): void {
  const strategy = check.value
  if (strategy.includes('/')) mustBe(qualifiedName, check.dynamic('strategy').with(strategy))
  else if (strategy !== 'OldestEmulationVersion') check.dynamic('strategy').notSupported(['OldestEmulationVersion'], strategy)
}
