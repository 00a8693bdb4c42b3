package main

import (
	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/codecmd"
	"leslie/cmd/leslie/internal/decidecmd"
	"leslie/cmd/leslie/internal/historycmd"
	"leslie/cmd/leslie/internal/mergecmd"
	"leslie/cmd/leslie/internal/projectcmd"
	"leslie/cmd/leslie/internal/runcmd"
	"leslie/cmd/leslie/internal/screencmd"
	"leslie/cmd/leslie/internal/threadcmd"
	"leslie/cmd/leslie/internal/toolcmd"
	"leslie/cmd/leslie/internal/viewcmd"
)

// commands are all commands of leslie, in the order of help.
func commands() cli.CommandTable {
	return append(projectCommands(), cli.CommandTable{
		{Name: "objective create", Make: threadcmd.ObjectiveCreate},
		{Name: "objective list", Make: threadcmd.ObjectiveList},
		{Name: "objective status", Make: threadcmd.ObjectiveStatus},
		{Name: "objective done", Make: threadcmd.ObjectiveDone},
		{Name: "objective cancel", Make: threadcmd.ObjectiveCancel},
		{Name: "spawn", Alias: "new", Make: threadcmd.Spawn},
		{Name: "update", Make: threadcmd.Update},
		{Name: "code", Make: codecmd.Code},
		{Name: "code list", Make: codecmd.List},
		{Name: "code setup", Make: codecmd.Setup},
		{Name: "code remove", Make: codecmd.Remove},
		{Name: "code restore", Make: codecmd.Restore},
		{Name: "code repair", Make: codecmd.Repair},
		{Name: "code prune", Make: codecmd.Prune},
		{Name: "list", Alias: "ls", Make: threadcmd.List},
		{Name: "status", Make: threadcmd.Status},
		{Name: "search", Make: viewcmd.Search},
		{Name: "graph", Make: viewcmd.Graph},
		{Name: "report", Make: viewcmd.Report},
		{Name: "artifacts", Make: threadcmd.Artifacts},
		{Name: "diff", Make: mergecmd.Diff},
		{Name: "show", Make: viewcmd.Show},
		{Name: "context", Make: threadcmd.Context},
		{Name: "reference", Make: threadcmd.Reference},
		{Name: "reference list", Make: threadcmd.ReferenceList},
		{Name: "reference show", Make: threadcmd.ReferenceShow},
		{Name: "reference refresh", Make: threadcmd.ReferenceRefresh},
		{Name: "reference remove", Make: threadcmd.ReferenceRemove},
		{Name: "lifecycle", Make: threadcmd.Lifecycle},
		{Name: "done", Make: threadcmd.Done},
		{Name: "cancel", Make: threadcmd.Cancel},
		{Name: "suspend", Make: threadcmd.Suspend},
		{Name: "resume", Make: threadcmd.Resume},
		{Name: "archive", Make: threadcmd.Archive},
		{Name: "reopen", Make: threadcmd.Reopen},
		{Name: "claim", Make: threadcmd.Claim},
		{Name: "renew", Make: threadcmd.Renew},
		{Name: "release", Make: threadcmd.Release},
		{Name: "inject", Make: threadcmd.Inject},
		{Name: "merge", Make: mergecmd.Merge},
		{Name: "merge list", Make: mergecmd.List},
		{Name: "merge status", Make: mergecmd.Status},
		{Name: "merge resolve", Make: mergecmd.Resolve},
		{Name: "merge continue", Make: mergecmd.Continue},
		{Name: "merge abort", Make: mergecmd.Abort},
		{Name: "merge land", Make: mergecmd.LandQueue},
		{Name: "drop", Make: mergecmd.Drop},
		{Name: "land", Make: mergecmd.Land},
		{Name: "pull", Make: mergecmd.Pull},
		{Name: "merge-file", Make: mergecmd.MergeFile},
		{Name: "transfer", Make: threadcmd.Transfer},
		{Name: "approvals", Make: decidecmd.Approvals},
		{Name: "approve", Make: decidecmd.Approve},
		{Name: "deny", Make: decidecmd.Deny},
		{Name: "revoke", Make: decidecmd.Revoke},
		{Name: "ask", Make: decidecmd.Ask},
		{Name: "answer", Make: decidecmd.Answer},
		{Name: "questions", Make: decidecmd.Questions},
		{Name: "comment", Make: threadcmd.Comment},
		{Name: "comment resolve", Make: threadcmd.CommentResolve},
		{Name: "comments", Make: threadcmd.Comments},
		{Name: "review", Make: threadcmd.Review},
		{Name: "can", Make: threadcmd.Can},
		{Name: "history", Alias: "log", Make: historycmd.History},
		{Name: "observe", Make: viewcmd.Observe},
		{Name: "wait", Make: threadcmd.Wait},
		{Name: "undo", Make: historycmd.Undo},
		{Name: "redo", Make: historycmd.Redo},
		{Name: "checkpoint", Make: threadcmd.Checkpoint},
		{Name: "checkpoint list", Make: threadcmd.CheckpointList},
		{Name: "rollback", Make: historycmd.Rollback},
		{Name: "batch", Make: cli.Batch},
		{Name: "import", Make: projectcmd.Import},
		{Name: "export", Make: projectcmd.Export},
		{Name: "logs", Make: historycmd.Logs},
		{Name: "stats", Make: historycmd.Stats},
		{Name: "run", Make: runcmd.Run},
		{Name: "run list", Make: runcmd.RunList},
		{Name: "run stop", Alias: "stop", Make: runcmd.RunStop},
		{Name: "run log", Make: runcmd.RunLog},
		{Name: "transcript", Make: runcmd.Transcript},
		{Name: "agents", Make: runcmd.Agents},
		{Name: "config path", Make: projectcmd.ConfigPath},
		{Name: "config show", Make: projectcmd.ConfigShow},
		{Name: "config trust", Make: projectcmd.ConfigTrust},
		{Name: "config allow", Make: projectcmd.ConfigAllow},
		{Name: "config init", Make: projectcmd.ConfigInit},
		{Name: "mcp", Make: toolcmd.Mcp},
		{Name: "hook start", Make: toolcmd.HookStart},
		{Name: "hook stop", Make: toolcmd.HookStop},
		{Name: "tui", Make: screencmd.Tui},
		{Name: "doctor", Make: projectcmd.Doctor},
		{Name: "completion", Make: cli.Completion},
		{Name: "explain", Make: viewcmd.Explain},
		{Name: "version", Make: cli.Version},
	}...)
}

// projectCommands are those about a project as a whole, here and on several machines.
func projectCommands() cli.CommandTable {
	return cli.CommandTable{
		{Name: "init", Make: projectcmd.Init},
		{Name: "setup", Make: projectcmd.Setup},
		{Name: "uninstall", Make: projectcmd.Uninstall},
		{Name: "remote config", Make: projectcmd.RemoteConfig},
		{Name: "remote init", Make: projectcmd.RemoteInit},
		{Name: "remote status", Make: projectcmd.RemoteStatus},
		{Name: "remote check", Make: projectcmd.RemoteCheck},
		{Name: "remote restore", Make: projectcmd.RemoteRestore},
		{Name: "remote move", Make: projectcmd.RemoteMove},
		{Name: "remote rejoin", Make: projectcmd.RemoteRejoin},
		{Name: "remote leave", Make: projectcmd.RemoteLeave},
		{Name: "connect", Make: projectcmd.Connect},
		{Name: "publish", Make: projectcmd.Publish},
	}
}
