// Before anything is drawn: scripts run here, and the theme is the one chosen last time.
document.documentElement.classList.add("js");
try { const kept = localStorage.getItem("ngm-theme"); if (kept) document.documentElement.dataset.theme = kept; } catch { /* not allowed here */ }
