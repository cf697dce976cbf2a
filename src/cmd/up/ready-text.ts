/** What a user is told when the cluster is there. */
export function readyText(kubeconfigPath: string, url: string): string {
  return `The cluster is ready at ${url}\nNext: export KUBECONFIG='${kubeconfigPath}' && kubectl get namespaces`
}
