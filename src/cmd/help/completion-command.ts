import { thisProcess } from '#base/machine.ts'
import type { Command } from '#base/options.ts'

/** How each shell is made to use it. */
const installation = `
Examples:
  source <(typernetes completion bash)                                        # in ~/.bashrc
  source <(typernetes completion zsh)                                         # in ~/.zshrc, after compinit
  typernetes completion fish > ~/.config/fish/completions/typernetes.fish`

export function completionCommand(command: Command): void {
  const shells = ['bash', 'zsh', 'fish'] as const
  for (const shell of shells) {
    command
      .command(shell)
      .description(`print the completion script of ${shell}`)
      .action(async () => thisProcess.write(new TextEncoder().encode(await (await import('#cmd/help/completions.ts')).completionOf(shell))))
  }
  command.addHelpText('after', installation)
}
