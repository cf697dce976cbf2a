import { commandSpecs } from '#cli/flags/command-spec.ts'
import { kubectlMain } from '#cli/main.ts'

/** `tn get pods` for `tn kubectl get pods`. False where the first word is no command of kubectl's either. */
export async function runShortForm(args: readonly string[]): Promise<boolean> {
  if (!commandSpecs().has(args[0] ?? '')) return false
  await kubectlMain(args, { isForPeople: true })
  return true
}
